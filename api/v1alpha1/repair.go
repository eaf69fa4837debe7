package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Repair decides what is done about machines that are broken. Having this section
// switches repair on for the pools; its defaults are what Karpenter does with its
// feature gate NodeRepair, and a breaker for failures that have something in common.
//
// +kubebuilder:validation:XValidation:rule="!has(self.conditions) || self.conditions.all(c, c.status != 'True' || c.type != 'Ready')",message="Ready=True is what every machine should have"
type Repair struct {
	// conditions are rules about conditions of Nodes: the first of the same type and
	// status decides. Where none does, those of the cloud provider hold, with the
	// section's action. Default none.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Conditions []RepairCondition `json:"conditions,omitempty"`
	// agents are DaemonSets whose pod must not crash again and again on a machine.
	// Default none.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Agents []RepairAgent `json:"agents,omitempty"`
	// action is what is done where a rule does not say: "Terminate" ends the machine
	// without waiting for anything, as Karpenter does; "Replace" launches what its pods
	// need, waits until that is ready, and then drains the machine; "Alert" only says
	// what is wrong; "Ignore" does nothing. Default Terminate.
	// +kubebuilder:default=Terminate
	// +optional
	Action RepairAction `json:"action,omitempty"`
	// budget is how many machines of a pool may be under repair at once: a number, or a
	// share of its machines, rounded up. Budgets of the NodePool do not hold repair
	// back. Default: all.
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]{1,6})$`
	// +optional
	Budget string `json:"budget,omitempty"`
	// minHealthy is how many machines of a pool must be healthy for one to be
	// terminated. It does not hold Replace back, which launches first. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	MinHealthy int32 `json:"minHealthy,omitempty"`
	// replaceTimeout is how long Replace waits for a replacement; then the machine is
	// terminated without one. Default 15m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="15m"
	// +optional
	ReplaceTimeout *metav1.Duration `json:"replaceTimeout,omitempty"`
	// drainTimeout is how long the drain of a machine that has been replaced may take,
	// whatever PodDisruptionBudgets say: on a broken machine it may never end. Default
	// 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="5m"
	// +optional
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// breaker stops repair when so much fails that the machines are hardly to blame.
	// +optional
	Breaker *RepairBreaker `json:"breaker,omitempty"`
}

// RepairCondition says when a condition of a Node means that its machine is broken.
type RepairCondition struct {
	// type is the condition's, such as Ready or NetworkingReady.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Type string `json:"type"`
	// status is the one that means it.
	// +kubebuilder:validation:Enum="True";"False";"Unknown"
	Status metav1.ConditionStatus `json:"status"`
	// toleration is how long the condition may be so. Default 30m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="30m"
	// +optional
	Toleration *metav1.Duration `json:"toleration,omitempty"`
	// action is what is done then. Default: the section's.
	// +optional
	Action RepairAction `json:"action,omitempty"`
}

// RepairAgent says when an agent that crashes means that its machine is broken. An
// agent crashes as long as a container of its pod has restarted that often and has
// not run for ten minutes since.
type RepairAgent struct {
	DaemonSetSelector `json:",inline"`
	// restarts is from how many restarts of a container on its pod counts. Default 3.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=3
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// toleration is how long it may go on. Default 15m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="15m"
	// +optional
	Toleration *metav1.Duration `json:"toleration,omitempty"`
	// action is what is done then. Default: the section's.
	// +optional
	Action RepairAction `json:"action,omitempty"`
}

// RepairAction is what is done about a broken machine.
// +kubebuilder:validation:Enum=Replace;Terminate;Alert;Ignore
type RepairAction string

// RepairBreaker stops repair while too much is broken. Machines count from the
// moment at which a condition or agent is bad, and only where the action is Replace
// or Terminate.
type RepairBreaker struct {
	// maxUnhealthy is how many machines of a pool may be broken, as a number or as a
	// share of its machines, rounded up: with more, none is repaired. Default 20%, as
	// in Karpenter.
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]{1,6})$`
	// +kubebuilder:default="20%"
	// +optional
	MaxUnhealthy string `json:"maxUnhealthy,omitempty"`
	// correlatedPercent is the share of the machines of a zone, of an image, or of the
	// cluster by what is wrong with them, above which failures have something in
	// common: none of them is repaired then. 100 never stops anything. Default 50.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=50
	// +optional
	CorrelatedPercent int32 `json:"correlatedPercent,omitempty"`
	// correlatedNodes is how many machines it takes for that at least. Default 3.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +kubebuilder:default=3
	// +optional
	CorrelatedNodes int32 `json:"correlatedNodes,omitempty"`
}
