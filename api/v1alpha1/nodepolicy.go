package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodePolicy decides what a NodePool has no field for: when a new machine counts
// as ready, how long that may take, and what happens when it takes longer. It
// holds for the machines of the NodePools that it selects.
//
// Several policies may select one pool. Each section is then taken from the
// policy with the highest priority that has it, and of equal ones from the first
// by name; status.nodePools shows for each pool which sections are in force and
// who overrides the others.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=nodepolicies,singular=nodepolicy,shortName=npolicy,categories=karpenter
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="NodePools",type=integer,JSONPath=`.status.selected`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Overridden",type=string,JSONPath=`.status.conditions[?(@.type=="Overridden")].status`
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="ValidationSucceeded")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Init Timeout",type=string,priority=1,JSONPath=`.spec.initialization.timeout`
// +kubebuilder:printcolumn:name="On Timeout",type=string,priority=1,JSONPath=`.spec.initialization.onTimeout`
type NodePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodePolicySpec `json:"spec"`
	// +optional
	Status NodePolicyStatus `json:"status,omitzero"`
}

// NodePolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type NodePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePolicy `json:"items"`
}

// NodePolicySpec says for whom a policy is, and what it decides.
type NodePolicySpec struct {
	// nodePools selects the NodePools whose machines the policy is for.
	NodePools PoolSelector `json:"nodePools"`
	// priority decides between policies that select the same pool: a section is
	// taken from the policy with the highest priority that has it, and of equal ones
	// from the first by name. -1000 to 1000.
	// +kubebuilder:validation:Minimum=-1000
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=0
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// initialization decides when a new machine is ready for work, and what happens
	// if it never is. Without it the defaults of its fields hold.
	// +optional
	Initialization *Initialization `json:"initialization,omitempty"`
	// termination decides how a machine is taken away, and what happens to volumes
	// that stay attached. Without it the defaults of its fields hold.
	// +optional
	Termination *Termination `json:"termination,omitempty"`
	// disruption decides when machines may be disrupted voluntarily, and what that
	// must save. Without it the defaults of its fields hold.
	// +optional
	Disruption *Disruption `json:"disruption,omitempty"`
	// interruption decides what is done when the cloud announces that a machine will
	// stop, reboot, be reclaimed or retired. Without it, or where none of its rules
	// matches, Karpenter's table holds.
	// +optional
	Interruption *Interruption `json:"interruption,omitempty"`
	// repair decides what is done about machines that are broken. Without it they are
	// left alone, unless the controller runs with the feature gate NodeRepair.
	// +optional
	Repair *Repair `json:"repair,omitempty"`
}

// PoolSelector selects NodePools by name or by label.
//
// +kubebuilder:validation:XValidation:rule="has(self.names) != has(self.selector)",message="give either names or selector"
type PoolSelector struct {
	// names are those of the NodePools. A name that no NodePool has yet is fine.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Names []string `json:"names,omitempty"`
	// selector matches the labels of NodePools themselves (not of their templates).
	// An empty selector, {}, matches all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// Section names a part of a policy that may be in force or overridden by itself.
type Section string

// The sections.
const (
	SectionInitialization Section = "initialization"
	SectionTermination    Section = "termination"
	SectionDisruption     Section = "disruption"
	SectionInterruption   Section = "interruption"
	SectionRepair         Section = "repair"
)

// Sections are those that the policy has, in the order of its fields.
func (s *NodePolicySpec) Sections() []Section {
	var out []Section
	if s.Initialization != nil {
		out = append(out, SectionInitialization)
	}
	if s.Termination != nil {
		out = append(out, SectionTermination)
	}
	if s.Disruption != nil {
		out = append(out, SectionDisruption)
	}
	if s.Interruption != nil {
		out = append(out, SectionInterruption)
	}
	if s.Repair != nil {
		out = append(out, SectionRepair)
	}
	return out
}

// Conditions of a NodePolicy.
const (
	// ConditionReady is True while at least one section is in force for at least one
	// pool.
	ConditionReady = "Ready"
	// ConditionOverridden is True while a section is overridden for a pool by
	// another policy.
	ConditionOverridden = "Overridden"
	// ConditionValidationSucceeded is False while a field is admitted and yet means
	// nothing, such as a window in a time zone that does not exist. The rest of the
	// policy holds.
	ConditionValidationSucceeded = "ValidationSucceeded"
)

// NodePolicyStatus is what came of a policy.
type NodePolicyStatus struct {
	// selected counts the NodePools that the policy selects.
	// +optional
	Selected int32 `json:"selected"`
	// nodePools are the NodePools that the policy selects, by name.
	// +listType=map
	// +listMapKey=name
	// +optional
	NodePools []PoolStatus `json:"nodePools,omitempty"`
	// conditions are Ready, Overridden and ValidationSucceeded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PoolStatus is what a policy comes to for one NodePool.
type PoolStatus struct {
	// name is the NodePool's.
	Name string `json:"name"`
	// inForce are the policy's sections that hold for the pool.
	// +listType=atomic
	// +optional
	InForce []Section `json:"inForce,omitempty"`
	// overridden are the policy's sections that do not, because another policy comes
	// first.
	// +listType=atomic
	// +optional
	Overridden []Override `json:"overridden,omitempty"`
}

// Override is a section that another policy overrides.
type Override struct {
	// section is the section's name.
	Section Section `json:"section"`
	// by names the policy that is in force.
	By string `json:"by"`
}
