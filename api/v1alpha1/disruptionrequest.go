package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DisruptionRequest asks people for leave to do something to a machine that the
// cloud has announced something about. Millwright writes one where a NodePolicy
// says `approval`, and waits until spec.decision is set: by `millwright approve`,
// by kubectl, or from Git. Its status says what would be done to which pods, when,
// and what happens without an answer.
//
// One that is written by hand before Millwright asks counts as the answer: what
// matters are nodeClaim, event and action, not the name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=disruptionrequests,singular=disruptionrequest,shortName=dreq,categories=karpenter
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Event",type=string,JSONPath=`.status.kind`
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Begins",type=string,JSONPath=`.status.begins`
// +kubebuilder:printcolumn:name="Deadline",type=string,JSONPath=`.status.deadline`
// +kubebuilder:printcolumn:name="Pods",type=integer,JSONPath=`.status.podCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="NodePool",type=string,priority=1,JSONPath=`.status.nodePool`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
type DisruptionRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DisruptionRequestSpec `json:"spec"`
	// +optional
	Status DisruptionRequestStatus `json:"status,omitzero"`
}

// DisruptionRequestList is a list of requests.
//
// +kubebuilder:object:root=true
type DisruptionRequestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DisruptionRequest `json:"items"`
}

// DisruptionRequestSpec is what is asked, and the answer.
//
// +kubebuilder:validation:XValidation:rule="self.nodeClaim == oldSelf.nodeClaim && self.event == oldSelf.event && self.action == oldSelf.action",message="nodeClaim, event and action cannot change: only the decision can"
type DisruptionRequestSpec struct {
	// nodeClaim names the machine's NodeClaim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	NodeClaim string `json:"nodeClaim"`
	// event is the cloud's name of what it has announced.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Event string `json:"event"`
	// action is what would be done.
	Action RequestAction `json:"action"`
	// decision is the answer; empty as long as there is none. It may change until the
	// action begins.
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// comment says why.
	// +kubebuilder:validation:MaxLength=1000
	// +optional
	Comment string `json:"comment,omitempty"`
}

// RequestAction is an action that may need approval.
// +kubebuilder:validation:Enum=Cordon;Replace;Drain;Terminate
type RequestAction string

// Decision is the answer to a request.
// +kubebuilder:validation:Enum=Approve;Deny
type Decision string

// The answers.
const (
	Approve Decision = "Approve"
	Deny    Decision = "Deny"
)

// RequestPhase is how a request stands: "Proposed" waits for an answer;
// "Approved" waits for its time, or is being carried out; "Denied" will not be
// done; "Expired" had no answer in time; "Withdrawn" is not asked any more, as the
// event or the machine is over or the policy has changed; "Done" was carried out.
// +kubebuilder:validation:Enum=Proposed;Approved;Denied;Expired;Withdrawn;Done
type RequestPhase string

// The phases.
const (
	RequestProposed  RequestPhase = "Proposed"
	RequestApproved  RequestPhase = "Approved"
	RequestDenied    RequestPhase = "Denied"
	RequestExpired   RequestPhase = "Expired"
	RequestWithdrawn RequestPhase = "Withdrawn"
	RequestDone      RequestPhase = "Done"
)

// DisruptionRequestStatus is what would be done, and how the request stands.
type DisruptionRequestStatus struct {
	// phase is how the request stands, since is from when on.
	// +optional
	Phase RequestPhase `json:"phase,omitempty"`
	// +optional
	Since metav1.Time `json:"since,omitzero"`
	// told is the phase that the webhook was told of last, if there is one.
	// +optional
	Told RequestPhase `json:"told,omitempty"`
	// message says in a sentence what will happen, or has.
	// +optional
	Message string `json:"message,omitempty"`
	// unanswered says what happens without an answer.
	// +optional
	Unanswered string `json:"unanswered,omitempty"`
	// node, nodePool and zone are the machine's.
	// +optional
	Node string `json:"node,omitempty"`
	// +optional
	NodePool string `json:"nodePool,omitempty"`
	// +optional
	Zone string `json:"zone,omitempty"`
	// kind is what the cloud has announced.
	// +optional
	Kind EventKind `json:"kind,omitempty"`
	// begins is when the action would begin if it were approved now; empty for at
	// once.
	// +optional
	Begins metav1.Time `json:"begins,omitzero"`
	// deadline is when the cloud acts at the latest; empty if that is not known.
	// +optional
	Deadline metav1.Time `json:"deadline,omitzero"`
	// expires is when the request ends without an answer; empty for never.
	// +optional
	Expires metav1.Time `json:"expires,omitzero"`
	// podCount counts the machine's pods that would have to move; pods are the first
	// of them, and those that hold a drain back or stay.
	// +optional
	PodCount int32 `json:"podCount,omitempty"`
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Pods []RequestPod `json:"pods,omitempty"`
}

// RequestPod is what would happen to a pod.
type RequestPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// fate is what would happen: "Moves" is evicted; "Guarded" as well, once its
	// PodDisruptionBudgets allow; "Protected" is waited for, as it must not be
	// disrupted; "Ends" goes with the machine; "Restarts" starts again with it.
	Fate PodFate `json:"fate"`
}

// PodFate is what would happen to a pod.
// +kubebuilder:validation:Enum=Moves;Guarded;Protected;Ends;Restarts
type PodFate string
