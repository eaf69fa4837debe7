package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Interruption decides what is done when the cloud announces something about a
// machine.
type Interruption struct {
	// rules are asked in order; the first that matches an event and the machine
	// decides. Where none does, Karpenter's table holds: Drain for
	// SpotInterruption, ReservationInterruption, Maintenance, InstanceStopped and
	// InstanceTerminated; Terminate for InstanceImpaired and SystemImpaired; Notify
	// for RebalanceRecommendation, ZoneImpaired, VolumeImpaired and ServiceIssue.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Rules []InterruptionRule `json:"rules,omitempty"`
	// rates bound how fast machines are taken away because of interruptions, those
	// first whose deadline is first. A machine that has come to its last moment,
	// reserve before its deadline, goes all the same. Default: no bound.
	// +kubebuilder:validation:MaxItems=2
	// +listType=map
	// +listMapKey=scope
	// +optional
	Rates []InterruptionRate `json:"rates,omitempty"`
}

// InterruptionRule says what is done about some events on some machines, and when.
//
// +kubebuilder:validation:XValidation:rule="!has(self.codes) || 'Maintenance' in self.events",message="codes are those of Maintenance, which events does not name"
// +kubebuilder:validation:XValidation:rule="self.action in ['Cordon', 'Restart', 'Replace', 'Drain', 'Terminate'] || !(has(self.windows) || has(self.leadTime) || has(self.waiting))",message="windows, leadTime and waiting need an action: Cordon, Restart, Replace, Drain or Terminate"
// +kubebuilder:validation:XValidation:rule="self.action in ['Replace', 'Drain'] || !has(self.atDeadline) || self.atDeadline == 'Leave'",message="atDeadline: Force needs the action Replace or Drain"
// +kubebuilder:validation:XValidation:rule="!has(self.approval) || self.approval == 'None' || !(self.action in ['Ignore', 'Notify'])",message="approval needs an action that does something to a machine"
// +kubebuilder:validation:XValidation:rule="self.action in ['Restart', 'Replace', 'Drain', 'Terminate'] || !has(self.nodePoolBudgets) || self.nodePoolBudgets == 'Ignore'",message="nodePoolBudgets: Respect needs an action that takes a machine away"
// +kubebuilder:validation:XValidation:rule="self.action == 'Restart' || !(has(self.restartPods) || has(self.restartTimeout))",message="restartPods and restartTimeout need the action Restart"
type InterruptionRule struct {
	// events are the kinds that the rule is for; "*" is all of them.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=12
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
	// also keeps new pods away, until the event is over; "Restart" stops and starts the
	// same machine before the cloud does, so that Node, NodeClaim and volumes stay, or
	// does as Replace where the cloud cannot restart it; "Replace" launches what its
	// pods need first, and then does as Drain, at the last moment (reserve before the
	// deadline) whether or not that is ready; "Drain" deletes the NodeClaim, so that the machine is drained and ended as any other; "Terminate"
	// does so without waiting for anything.
	Action InterruptionAction `json:"action"`
	// leadTime is how long before the start of the event the action may begin, for
	// example 48h. Default: as soon as the event is known.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	LeadTime *metav1.Duration `json:"leadTime,omitempty"`
	// windows are the only times at which the action may begin. Default always.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Windows []Window `json:"windows,omitempty"`
	// waiting selects the pods for whose sake leadTime, windows and approval are kept:
	// the others are evicted as soon as the event is known, and the machine takes no
	// new ones; one on which no such pod runs does not wait. For pods of StatefulSets
	// the label apps.kubernetes.io/pod-index exists. Default all pods.
	// +optional
	Waiting *metav1.LabelSelector `json:"waiting,omitempty"`
	// reserve is how long before the deadline of the event the action begins at the
	// latest, in a window or not; it should cover a drain. Default 30m, and 1m for
	// SpotInterruption, which is told two minutes ahead.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
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
	// and waits for them during the drain; "Evict" begins, and evicts them as any other
	// pod. Default Ignore.
	// +optional
	DoNotDisrupt DoNotDisrupt `json:"doNotDisrupt,omitempty"`
	// podDisruptionBudgets says what they count for in a drain: "Respect" evicts pods
	// as they allow; "Ignore" deletes pods that they would hold back, with their grace
	// period. Default Respect.
	// +optional
	PodDisruptionBudgets Regard `json:"podDisruptionBudgets,omitempty"`
	// terminationGracePeriod says what that of the NodeClaim counts for: "Respect" ends
	// the drain when it is over, even if the event leaves more time; "Ignore" leaves it
	// to atDeadline how the drain ends. Default Respect.
	// +optional
	TerminationGracePeriod Regard `json:"terminationGracePeriod,omitempty"`
	// nodePoolBudgets says what spec.disruption.budgets of the NodePool count for, those
	// without reasons: "Respect" waits until they allow another machine to go, until the
	// last moment; "Ignore" does not. Default Ignore.
	// +optional
	NodePoolBudgets Regard `json:"nodePoolBudgets,omitempty"`
	// restartPods says what the pods do before a Restart: "Evict" has them leave as in a
	// drain, DaemonSets' aside; "Keep" leaves them there, to start again with the machine,
	// without asking PodDisruptionBudgets. Default Evict.
	// +optional
	RestartPods RestartPods `json:"restartPods,omitempty"`
	// restartTimeout is how long a machine may take to stop, and again until its Node is
	// Ready; then its NodeClaim is deleted. Default 15m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	RestartTimeout *metav1.Duration `json:"restartTimeout,omitempty"`
	// unconfirmed says what is done about an event that rests on a message alone:
	// "Act", or "Wait" until the cloud's own API says the same. Default Act.
	// +optional
	Unconfirmed Unconfirmed `json:"unconfirmed,omitempty"`
	// approval says whether people are asked, with a DisruptionRequest that is written
	// as soon as the event is known: "None" does not ask; "Required" does nothing
	// without an approval, and leaves the machine to the cloud if there is no answer;
	// "UntilDeadline" waits for one until the last moment, reserve before the deadline,
	// and then begins unless it was denied. Default None.
	// +optional
	Approval Approval `json:"approval,omitempty"`
}

// InterruptionRate bounds how fast machines are taken away: a bucket that holds
// burst tokens and gets another every so often; each machine takes one.
type InterruptionRate struct {
	// scope is what shares a bucket: the machines of a NodePool, or those of a NodePool
	// in one zone.
	Scope RateScope `json:"scope"`
	// burst is how many machines may begin at once.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Burst int32 `json:"burst"`
	// every is how long it takes until another one may.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	Every metav1.Duration `json:"every"`
}

// RateScope is what shares a bucket.
// +kubebuilder:validation:Enum=Pool;Zone
type RateScope string

// EventKind is what a cloud announces.
// +kubebuilder:validation:Enum="*";SpotInterruption;RebalanceRecommendation;Maintenance;ReservationInterruption;InstanceStopped;InstanceTerminated;InstanceImpaired;SystemImpaired;VolumeImpaired;ZoneImpaired;ServiceIssue
type EventKind string

// MaintenanceCode is what maintenance does to a machine.
// +kubebuilder:validation:Enum=Stop;Retirement;Reboot;Network;Power
type MaintenanceCode string

// InterruptionAction is what is done about an event.
// +kubebuilder:validation:Enum=Ignore;Notify;Cordon;Restart;Replace;Drain;Terminate
type InterruptionAction string

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
// +kubebuilder:validation:Enum=Ignore;Respect;Evict
type DoNotDisrupt string

// What the annotation counts for.
const (
	DoNotDisruptIgnore  DoNotDisrupt = "Ignore"
	DoNotDisruptRespect DoNotDisrupt = "Respect"
	DoNotDisruptEvict   DoNotDisrupt = "Evict"
)

// Regard says whether something counts.
// +kubebuilder:validation:Enum=Respect;Ignore
type Regard string

// Whether it counts.
const (
	RegardRespect Regard = "Respect"
	RegardIgnore  Regard = "Ignore"
)

// RestartPods is what the pods do before a restart.
// +kubebuilder:validation:Enum=Evict;Keep
type RestartPods string

// What they do.
const (
	RestartEvict RestartPods = "Evict"
	RestartKeep  RestartPods = "Keep"
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

// Approval says whether people are asked.
// +kubebuilder:validation:Enum=None;Required;UntilDeadline
type Approval string

// Whether people are asked.
const (
	ApprovalNone          Approval = "None"
	ApprovalRequired      Approval = "Required"
	ApprovalUntilDeadline Approval = "UntilDeadline"
)
