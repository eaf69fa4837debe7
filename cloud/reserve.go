package cloud

// Reserver is a provider whose machines may outlive the capacity reservation that they were
// launched into: they go on as on-demand machines, and are paid for as such. It is found by
// assertion.
type Reserver interface {
	// ReservationLabels are the keys of the labels that machines of a reservation carry, and no
	// others.
	ReservationLabels() []string
}
