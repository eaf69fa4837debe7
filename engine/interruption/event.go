package interruption

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Kind is what the cloud announces.
type Kind string

// The kinds.
const (
	// Spot: the machine is reclaimed, usually two minutes from now.
	Spot Kind = "SpotInterruption"
	// Rebalance: the machine is more likely than others to be reclaimed.
	Rebalance Kind = "RebalanceRecommendation"
	// Maintenance is scheduled; its Code says what will happen.
	Maintenance Kind = "Maintenance"
	// Reservation: the machine's capacity reservation is taken away.
	Reservation Kind = "ReservationInterruption"
	// Stopped: the machine is stopping or has stopped.
	Stopped Kind = "InstanceStopped"
	// Terminated: the machine shuts down for good or has done so.
	Terminated Kind = "InstanceTerminated"
	// InstanceImpaired, SystemImpaired and VolumeImpaired: the cloud's checks of the
	// machine, of what it runs on, or of a volume attached to it fail.
	InstanceImpaired Kind = "InstanceImpaired"
	SystemImpaired   Kind = "SystemImpaired"
	VolumeImpaired   Kind = "VolumeImpaired"
	// ZoneImpaired: all machines of a zone are affected.
	ZoneImpaired Kind = "ZoneImpaired"
	// ServiceIssue: a service of the cloud has trouble that concerns the machine, or tells its
	// owner of something about it.
	ServiceIssue Kind = "ServiceIssue"
)

// Kinds lists every kind.
func Kinds() []Kind {
	return []Kind{
		Spot, Rebalance, Maintenance, Reservation, Stopped, Terminated,
		InstanceImpaired, SystemImpaired, VolumeImpaired, ZoneImpaired, ServiceIssue,
	}
}

// Code is what maintenance does to the machine.
type Code string

// The codes of maintenance.
const (
	Stop       Code = "Stop"
	Retirement Code = "Retirement"
	Reboot     Code = "Reboot"
	Network    Code = "Network"
	Power      Code = "Power"
)

// Codes lists every code.
func Codes() []Code { return []Code{Stop, Retirement, Reboot, Network, Power} }

// State is how an event stands.
type State string

// The states. Announced and Changed are alike to the engine: a changed event
// carries its new times.
const (
	Announced State = "Announced"
	Changed   State = "Changed"
	Cancelled State = "Cancelled"
	Completed State = "Completed"
)

// States lists every state.
func States() []State { return []State{Announced, Changed, Cancelled, Completed} }

// Event is one announcement of a cloud, as it stands now.
type Event struct {
	// ID tells events apart; an event that changes keeps it.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Code is that of Maintenance, empty for other kinds.
	Code Code `json:"code,omitempty"`
	// Machine is a provider ID or what it ends in, such as the cloud's own name of the
	// machine. Empty for an event about a zone.
	Machine string `json:"machine,omitempty"`
	// Volume is the cloud's name of the volume that it is about, if it is about one; its
	// machines are those that it is attached to. PersistentVolume is Kubernetes' name of it.
	Volume           string `json:"volume,omitempty"`
	PersistentVolume string `json:"persistentVolume,omitempty"`
	// Zone is that of ZoneImpaired.
	Zone string `json:"zone,omitempty"`
	// NotBefore is when it begins at the earliest, zero if that is not known.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Deadline is when the machine is affected at the latest; zero is NotBefore.
	Deadline time.Time `json:"deadline,omitzero"`
	// State is Announced if empty.
	State State `json:"state,omitempty"`
	// Confirmed is true if the cloud's own API says the same, so that the event does
	// not rest on a message alone.
	Confirmed bool `json:"confirmed,omitempty"`
	// Source is where it was heard of, Issued when the cloud said it, Text its words.
	Source string    `json:"source,omitempty"`
	Issued time.Time `json:"issued,omitzero"`
	Text   string    `json:"text,omitempty"`
}

// Check says what is wrong with an event that was written by hand, naming the field.
func (e *Event) Check() error {
	switch {
	case e.ID == "":
		return errors.New("id: missing")
	case !slices.Contains(Kinds(), e.Kind):
		return fmt.Errorf("kind: %q is none of %v", e.Kind, Kinds())
	case e.Code != "" && (e.Kind != Maintenance || !slices.Contains(Codes(), e.Code)):
		return fmt.Errorf("code: %q is none of %v, the codes of Maintenance", e.Code, Codes())
	case e.State != "" && !slices.Contains(States(), e.State):
		return fmt.Errorf("state: %q is none of %v", e.State, States())
	case e.Kind == ZoneImpaired && e.Zone == "":
		return errors.New("zone: missing")
	case e.Kind != ZoneImpaired && e.Machine == "" && e.Volume == "":
		return errors.New("machine: missing")
	case !e.Deadline.IsZero() && e.Deadline.Before(e.NotBefore):
		return fmt.Errorf("deadline: %v is before notBefore, %v", e.Deadline, e.NotBefore)
	}
	return nil
}

// Over reports whether the event is not to be expected any more.
func (e *Event) Over() bool { return e.State == Cancelled || e.State == Completed }

// End is when the machine is affected at the latest, zero if that is not known.
func (e *Event) End() time.Time {
	if e.Deadline.IsZero() {
		return e.NotBefore
	}
	return e.Deadline
}

// About reports whether an event is about a machine.
func (e *Event) About(n *snapshot.Node) bool {
	if e.Kind == ZoneImpaired {
		return e.Zone != "" && n.Labels()[corev1.LabelTopologyZone] == e.Zone
	}
	id := providerID(n)
	return e.Machine != "" && id != "" && (id == e.Machine || strings.HasSuffix(id, "/"+e.Machine))
}

func providerID(n *snapshot.Node) string {
	switch {
	case n.Claim != nil && n.Claim.ProviderID != "":
		return n.Claim.ProviderID
	case n.Object != nil:
		return n.Object.Spec.ProviderID
	}
	return ""
}
