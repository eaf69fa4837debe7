package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Interruption decides what is done when the cloud announces something about a
// machine.
type Interruption struct {
	// rules are asked in order; the first that matches an event and the machine
	// decides. Where none does, Karpenter's table holds: Drain for
	// SpotInterruption, ReservationInterruption, Maintenance, InstanceStopped and
	// InstanceTerminated; Terminate for InstanceImpaired and SystemImpaired; Notify
	// for RebalanceRecommendation and ZoneImpaired; Ignore for VolumeImpaired.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Rules []InterruptionRule `json:"rules"`
}

// InterruptionRule says what is done about some events on some machines, and when.
//
// +kubebuilder:validation:XValidation:rule="!has(self.codes) || 'Maintenance' in self.events",message="codes are those of Maintenance, which events does not name"
// +kubebuilder:validation:XValidation:rule="self.action in ['Cordon', 'Drain', 'Terminate'] || !(has(self.window) || has(self.leadTime))",message="window and leadTime need an action: Cordon, Drain or Terminate"
// +kubebuilder:validation:XValidation:rule="self.action == 'Drain' || !has(self.atDeadline) || self.atDeadline == 'Leave'",message="atDeadline: Force needs the action Drain"
type InterruptionRule struct {
	// events are the kinds that the rule is for.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	// +listType=set
	Events []EventKind `json:"events"`
	// codes narrow Maintenance to what it does to the machine. Default all.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	Codes []MaintenanceCode `json:"codes,omitempty"`
	// pods narrows the rule to machines on which a pod with such labels runs. Default
	// all machines.
	// +optional
	Pods *metav1.LabelSelector `json:"pods,omitempty"`
	// action is what is done: "Ignore" nothing at all; "Notify" an Event; "Cordon"
	// also keeps new pods away, until the event is over; "Drain" deletes the
	// NodeClaim, so that the machine is drained and ended as any other; "Terminate"
	// does so without waiting for anything.
	Action InterruptionAction `json:"action"`
	// leadTime is how long before the start of the event the action may begin, for
	// example 48h. Default: as soon as the event is known.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	LeadTime *metav1.Duration `json:"leadTime,omitempty"`
	// window is when the action may begin. Default always.
	// +optional
	Window *WeeklyWindow `json:"window,omitempty"`
	// reserve is how long before the deadline of the event the action begins at the
	// latest, in a window or not; it should cover a drain. Default 30m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +optional
	Reserve *metav1.Duration `json:"reserve,omitempty"`
	// whenTooLate is what happens when no window opens until then: "Act" begins at
	// that moment, "Leave" leaves the machine to the cloud. Default Act.
	// +optional
	WhenTooLate WhenTooLate `json:"whenTooLate,omitempty"`
	// atDeadline is what happens to pods that a drain has not moved when the deadline
	// of the event comes: "Leave" lets them end with the machine; "Force" makes them
	// go before, each with as much of its grace period as the time allows, whatever
	// PodDisruptionBudgets say. Default Leave.
	// +optional
	AtDeadline AtDeadline `json:"atDeadline,omitempty"`
	// doNotDisrupt says what pods with the annotation karpenter.sh/do-not-disrupt
	// count for: "Respect" waits for them, until the last moment; "Ignore" begins,
	// and waits for them during the drain. Default Ignore.
	// +optional
	DoNotDisrupt DoNotDisrupt `json:"doNotDisrupt,omitempty"`
	// unconfirmed says what is done about an event that rests on a message alone:
	// "Act", or "Wait" until the cloud's own API says the same. Default Act.
	// +optional
	Unconfirmed Unconfirmed `json:"unconfirmed,omitempty"`
}

// WeeklyWindow is a time of the week, by the wall clock of a place.
//
// +kubebuilder:validation:XValidation:rule="self.from != self.to",message="a window needs a beginning and an end that differ"
type WeeklyWindow struct {
	// timeZone is the name of an IANA time zone, such as Europe/Berlin. Default UTC.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+)*$`
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// days are those on which the window opens. Default every day.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	// +listType=set
	// +optional
	Days []Weekday `json:"days,omitempty"`
	// from and to are times of the day, as in "02:00". A to that is before from is on
	// the next day. When summer time begins or ends within the window, it is shorter
	// or longer than it looks.
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from"`
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	To string `json:"to"`
}

// EventKind is what a cloud announces.
// +kubebuilder:validation:Enum=SpotInterruption;RebalanceRecommendation;Maintenance;ReservationInterruption;InstanceStopped;InstanceTerminated;InstanceImpaired;SystemImpaired;VolumeImpaired;ZoneImpaired
type EventKind string

// MaintenanceCode is what maintenance does to a machine.
// +kubebuilder:validation:Enum=Stop;Retirement;Reboot;Network;Power
type MaintenanceCode string

// InterruptionAction is what is done about an event.
// +kubebuilder:validation:Enum=Ignore;Notify;Cordon;Drain;Terminate
type InterruptionAction string

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Monday;Tuesday;Wednesday;Thursday;Friday;Saturday;Sunday
type Weekday string

// WhenTooLate is what happens when no window opens in time.
// +kubebuilder:validation:Enum=Act;Leave
type WhenTooLate string

// What happens when no window opens in time.
const (
	TooLateAct   WhenTooLate = "Act"
	TooLateLeave WhenTooLate = "Leave"
)

// AtDeadline is what happens to pods that are left at an event's deadline.
// +kubebuilder:validation:Enum=Leave;Force
type AtDeadline string

// What happens to pods that are left.
const (
	DeadlineLeave AtDeadline = "Leave"
	DeadlineForce AtDeadline = "Force"
)

// DoNotDisrupt is what the annotation of that name counts for.
// +kubebuilder:validation:Enum=Ignore;Respect
type DoNotDisrupt string

// What the annotation counts for.
const (
	DoNotDisruptIgnore  DoNotDisrupt = "Ignore"
	DoNotDisruptRespect DoNotDisrupt = "Respect"
)

// Unconfirmed is what is done about an event that the cloud's API has not
// confirmed.
// +kubebuilder:validation:Enum=Act;Wait
type Unconfirmed string

// What is done about it.
const (
	UnconfirmedAct  Unconfirmed = "Act"
	UnconfirmedWait Unconfirmed = "Wait"
)
