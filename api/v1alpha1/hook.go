package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TerminationHook is something outside of Millwright that a machine waits for on its
// way out, such as a backup or a hand-over. A deadline of the machine always wins:
// that of the claim's terminationGracePeriod, and the moment at which the cloud
// takes it away. A hook before a drain gives way a minute earlier, or as much as the
// longest grace period of its pods, so that there is time for the drain.
//
// +kubebuilder:validation:XValidation:rule="[has(self.annotation), has(self.condition), has(self.job), has(self.elapsed)].filter(x, x).size() == 1",message="a hook waits for exactly one of annotation, condition, job and elapsed"
// +kubebuilder:validation:XValidation:rule="!has(self.elapsed) || !has(self.timeout) || duration(self.elapsed) > duration('0s') && duration(self.elapsed) <= duration(self.timeout)",message="elapsed must be longer than 0s and no longer than timeout"
type TerminationHook struct {
	// name tells the hooks of a policy apart; Jobs bear it as a label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// before says what waits: "Drain", when the Node is tainted and all its pods still
	// run; or "Termination", when its pods have left and their volumes are detached.
	Before HookPoint `json:"before"`
	// annotation is waited for on the Node.
	// +optional
	Annotation *HookAnnotation `json:"annotation,omitempty"`
	// condition is waited for in the Node's status.
	// +optional
	Condition *HookCondition `json:"condition,omitempty"`
	// job is waited for until it is complete. One that has failed is not: its
	// creator makes another, or the hook's time runs out.
	// +optional
	Job *HookJob `json:"job,omitempty"`
	// elapsed is so long since the machine began to go: since its Node was tainted and
	// taken out of load balancers, whose deregistration delay it may be.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +optional
	Elapsed *metav1.Duration `json:"elapsed,omitempty"`
	// timeout is how long the hook is waited for. Default 10m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="10m"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// onTimeout is what happens then: "Continue" goes on without it (fail open);
	// "Wait" keeps the machine until the hook is fulfilled (fail closed). Default
	// Continue.
	// +kubebuilder:default=Continue
	// +optional
	OnTimeout HookTimeout `json:"onTimeout,omitempty"`
}

// HookAnnotation is an annotation of a Node.
type HookAnnotation struct {
	// key is the annotation's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Key string `json:"key"`
	// value is what it must be. Default anything.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Value string `json:"value,omitempty"`
}

// HookCondition is a condition of a Node.
type HookCondition struct {
	// type is the condition's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Type string `json:"type"`
	// status is what it must be. Default True.
	// +kubebuilder:validation:Enum="True";"False";"Unknown"
	// +kubebuilder:default="True"
	// +optional
	Status string `json:"status,omitempty"`
}

// HookJob is a Job with the labels millwright.dev/node, the Node's name, and
// millwright.dev/hook, the hook's. A controller of your own creates it, when the Node gets the
// taint karpenter.sh/disrupted for example; its pods may run anywhere, and on the Node
// itself if they tolerate that taint.
type HookJob struct {
	// namespace is the Job's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// HookPoint is what waits for a hook.
// +kubebuilder:validation:Enum=Drain;Termination
type HookPoint string

// HookTimeout is what happens when the time of a hook is over.
// +kubebuilder:validation:Enum=Continue;Wait
type HookTimeout string

// What happens when the time of a hook is over.
const (
	HookContinue HookTimeout = "Continue"
	HookWait     HookTimeout = "Wait"
)
