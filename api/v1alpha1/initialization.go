package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Initialization decides when a new machine is ready for work, how long each
// stage of its start may take, and what happens when that time is up.
//
// +kubebuilder:validation:XValidation:rule="!has(self.launchTimeout) || duration(self.launchTimeout) >= duration('1s')",message="launchTimeout must be at least 1s"
// +kubebuilder:validation:XValidation:rule="!has(self.registrationTimeout) || !has(self.launchTimeout) || duration(self.registrationTimeout) >= duration(self.launchTimeout)",message="registrationTimeout counts from the same moment as launchTimeout and must not be shorter"
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || self.timeout == 'Never' || duration(self.timeout) >= duration('1s')",message="timeout must be at least 1s, or Never"
// +kubebuilder:validation:XValidation:rule="!has(self.untilInitialized) || self.untilInitialized != 'Taint' || (has(self.onTimeout) && self.onTimeout != 'Alert' && (!has(self.timeout) || self.timeout != 'Never'))",message="untilInitialized: Taint needs an onTimeout of Retain or Replace and a timeout that ends: else a Node may never take pods"
type Initialization struct {
	// launchTimeout is how long the cloud may take to deliver a machine, from the
	// creation of its NodeClaim. A claim that takes longer is given up, unless the
	// cloud refuses requests as too frequent. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="5m"
	// +optional
	LaunchTimeout *metav1.Duration `json:"launchTimeout,omitempty"`
	// registrationTimeout is how long it may take until the machine's Node is there,
	// from the creation of its NodeClaim, or from the launch if that came after
	// launchTimeout. A machine that takes longer is terminated. Default 15m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="15m"
	// +optional
	RegistrationTimeout *metav1.Duration `json:"registrationTimeout,omitempty"`
	// timeout is how long it may take from the registration of a Node until all that
	// it waits for is there; onTimeout says what happens then. "Never" waits for
	// ever. Default 15m.
	// +kubebuilder:validation:Pattern=`^(([0-9]{1,6}(s|m|h))+|Never)$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="15m"
	// +optional
	Timeout string `json:"timeout,omitempty"`
	// onTimeout says what happens to a machine that is not initialized in time:
	// "Alert" keeps it and says so in events and conditions; "Retain" also keeps pods
	// away from it (taint millwright.dev/not-initialized) and plans them elsewhere,
	// so that it can be looked at; "Replace" gives it up. Default Alert.
	// +kubebuilder:default=Alert
	// +optional
	OnTimeout Consequence `json:"onTimeout,omitempty"`
	// staleUninitialized deals with the taint
	// node.cloudprovider.kubernetes.io/uninitialized that stays although the cloud
	// controller has done its work: provider ID, addresses and zone are set.
	// +optional
	StaleUninitialized *StaleUninitialized `json:"staleUninitialized,omitempty"`
	// readyDaemonSets are DaemonSets whose pods must be Ready on a Node, if they are
	// meant to run there, before it counts as initialized. Default none.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	ReadyDaemonSets []DaemonSetSelector `json:"readyDaemonSets,omitempty"`
	// nodeConditions must hold on a Node before it counts as initialized. Default
	// none but Ready.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=type
	// +optional
	NodeConditions []NodeCondition `json:"nodeConditions,omitempty"`
	// csiDrivers must be registered in a Node's CSINode before it counts as
	// initialized, in addition to the drivers of volumes that pods on the Node use,
	// which are always waited for. Default none.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$`
	// +listType=set
	// +optional
	CSIDrivers []string `json:"csiDrivers,omitempty"`
	// undeclaredTaints says what to do about a taint that new Nodes of a pool carry
	// and that is removed within minutes, although the pool does not list it in
	// startupTaints: "Learn" plans with it as a startup taint, so that no machine is
	// launched twice, and tells which lines to add to the NodePool; "Ignore" does
	// neither. Default Learn.
	// +kubebuilder:default=Learn
	// +optional
	UndeclaredTaints UndeclaredTaints `json:"undeclaredTaints,omitempty"`
	// untilInitialized says whether a new Node takes pods before it counts as
	// initialized: "Admit", once its kubelet is ready and its startup taints are gone;
	// "Taint" keeps pods off until then, but for those that tolerate
	// millwright.dev/not-initialized:NoSchedule. All that the Node waits for must
	// tolerate it. Default Admit.
	// +kubebuilder:default=Admit
	// +optional
	UntilInitialized UntilInitialized `json:"untilInitialized,omitempty"`
	// firstPods says which pods a new Node takes first: "Any", or "Planned", only those
	// that it was launched for until they are bound, for five minutes at most. For that
	// the Node has the taint millwright.dev/planned-pods, and Millwright adds a toleration
	// for it to those pods, for which it needs the ClusterRole millwright-planned-pods.
	// Default Any.
	// +kubebuilder:default=Any
	// +optional
	FirstPods FirstPods `json:"firstPods,omitempty"`
	// backoff bounds how often a pool launches what has failed before.
	// +optional
	Backoff *Backoff `json:"backoff,omitempty"`
}

// UntilInitialized says whether a new Node takes pods before it is initialized.
// +kubebuilder:validation:Enum=Admit;Taint
type UntilInitialized string

// What a Node does until it is initialized.
const (
	AdmitPods UntilInitialized = "Admit"
	TaintNode UntilInitialized = "Taint"
)

// FirstPods says which pods a new Node takes first.
// +kubebuilder:validation:Enum=Any;Planned
type FirstPods string

// The pods that a new Node may take first.
const (
	AnyPods     FirstPods = "Any"
	PlannedPods FirstPods = "Planned"
)

// Consequence is what happens to a machine that is not initialized in time.
// +kubebuilder:validation:Enum=Alert;Retain;Replace
type Consequence string

// The consequences.
const (
	Alert   Consequence = "Alert"
	Retain  Consequence = "Retain"
	Replace Consequence = "Replace"
)

// StaleUninitialized deals with a taint of the cloud controller that stays.
type StaleUninitialized struct {
	// grace is how long the taint may stay, from the registration of the Node,
	// before something is done about it. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="5m"
	// +optional
	Grace *metav1.Duration `json:"grace,omitempty"`
	// action is what is done: "Report" only says so, "Remove" takes the taint off the
	// Node, "Replace" gives the machine up. Default Remove.
	// +kubebuilder:default=Remove
	// +optional
	Action StaleAction `json:"action,omitempty"`
}

// StaleAction is what is done about a taint that the cloud controller left.
// +kubebuilder:validation:Enum=Report;Remove;Replace
type StaleAction string

// The actions.
const (
	StaleReport  StaleAction = "Report"
	StaleRemove  StaleAction = "Remove"
	StaleReplace StaleAction = "Replace"
)

// DaemonSetSelector selects DaemonSets by name or by label.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.selector)",message="give either name or selector"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || has(self.namespace)",message="a name needs its namespace"
type DaemonSetSelector struct {
	// namespace is that of the DaemonSets; empty with a selector is all of them.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is that of one DaemonSet.
	// +optional
	Name string `json:"name,omitempty"`
	// selector matches the labels of DaemonSets.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// NodeCondition is a condition that a Node must have.
type NodeCondition struct {
	// type is the condition's, such as NetworkingReady.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Type string `json:"type"`
	// status is what it must be. Default True.
	// +kubebuilder:validation:Enum="True";"False"
	// +kubebuilder:default="True"
	// +optional
	Status metav1.ConditionStatus `json:"status,omitempty"`
}

// UndeclaredTaints says what to do about startup taints that a pool does not
// declare.
// +kubebuilder:validation:Enum=Learn;Ignore
type UndeclaredTaints string

// The choices.
const (
	LearnTaints  UndeclaredTaints = "Learn"
	IgnoreTaints UndeclaredTaints = "Ignore"
)

// Backoff bounds how often a pool launches what has failed before. Failures are
// machines that were given up, or retained, because they did not launch, register or initialize
// in time. They are counted per template of the pool, and per image and per offering
// (instance type, zone and capacity type) of the template; other pools are not
// concerned.
//
// +kubebuilder:validation:XValidation:rule="!has(self.initial) || !has(self.max) || duration(self.max) >= duration(self.initial)",message="max must not be shorter than initial"
type Backoff struct {
	// failures is how many machines in a row must fail before launches pause.
	// Default 3.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=3
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// initial is the first pause; each further failure doubles it. Default 2m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="2m"
	// +optional
	Initial *metav1.Duration `json:"initial,omitempty"`
	// max is the longest pause. Default 1h.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="1h"
	// +optional
	Max *metav1.Duration `json:"max,omitempty"`
}
