package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Termination decides how a machine is taken away: which pods go with it, how long
// its volumes may take, and what happens to what stays attached.
type Termination struct {
	// agents are DaemonSets whose pods a Node needs until its end: they are not
	// evicted, whether or not they tolerate the taint karpenter.sh/disrupted. The node
	// plugins of CSI drivers and the agents of networks are known without being
	// listed. Default none.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Agents []DaemonSetSelector `json:"agents,omitempty"`
	// maxParallelEvictions is how many pods of one Node may be ending at the same
	// time. Fewer make a drain slower and gentler. Default: as many as budgets allow.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxParallelEvictions int32 `json:"maxParallelEvictions,omitempty"`
	// unmountTimeout is how long the kubelet may take to unmount a volume after the
	// last pod has left the Node; then the volume counts as stuck. Default 1m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="1m"
	// +optional
	UnmountTimeout *metav1.Duration `json:"unmountTimeout,omitempty"`
	// detachTimeout is how long the driver may take to detach a volume after it was
	// told to; then the volume counts as stuck. Default 90s; EBS takes about 20s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="90s"
	// +optional
	DetachTimeout *metav1.Duration `json:"detachTimeout,omitempty"`
	// onStuckVolumes says what happens when every volume that is left on a drained
	// Node is stuck: "Wait" keeps the machine until they are detached or the claim's
	// terminationGracePeriod has passed; "Terminate" ends it, which may lose what a
	// volume that is still mounted has not written. Default Wait.
	// +kubebuilder:default=Wait
	// +optional
	OnStuckVolumes StuckVolumes `json:"onStuckVolumes,omitempty"`
	// outOfService says whether the Node of a machine that the cloud has confirmed to
	// be stopped or gone gets the taint node.kubernetes.io/out-of-service, so that
	// Kubernetes releases its volumes and pods at once and not after six minutes:
	// "Taint" or "Never". Default Taint.
	// +kubebuilder:default=Taint
	// +optional
	OutOfService OutOfService `json:"outOfService,omitempty"`
	// releaseTimeout is how long such a Node is kept for that. Default 2m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:default="2m"
	// +optional
	ReleaseTimeout *metav1.Duration `json:"releaseTimeout,omitempty"`
	// orphanedAttachments says what is done about VolumeAttachments to Nodes that do
	// not exist any more: "Report" only shows them, "Delete" deletes them. A Node that
	// is gone belongs to no pool, so one policy in force that says Delete is enough
	// for the whole cluster. Default Report.
	// +kubebuilder:default=Report
	// +optional
	OrphanedAttachments OrphanedAttachments `json:"orphanedAttachments,omitempty"`
	// hooks are what a machine waits for before its pods are evicted, or before it is
	// ended. Default none.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=name
	// +optional
	Hooks []TerminationHook `json:"hooks,omitempty"`
}

// StuckVolumes is what happens when only stuck volumes are left on a machine.
// +kubebuilder:validation:Enum=Wait;Terminate
type StuckVolumes string

// What happens when only stuck volumes are left.
const (
	StuckWait      StuckVolumes = "Wait"
	StuckTerminate StuckVolumes = "Terminate"
)

// OutOfService says whether the taint of that name is used.
// +kubebuilder:validation:Enum=Taint;Never
type OutOfService string

// Whether the taint is used.
const (
	OutOfServiceTaint OutOfService = "Taint"
	OutOfServiceNever OutOfService = "Never"
)

// OrphanedAttachments is what is done about attachments to Nodes that are gone.
// +kubebuilder:validation:Enum=Report;Delete
type OrphanedAttachments string

// What is done about them.
const (
	OrphansReport OrphanedAttachments = "Report"
	OrphansDelete OrphanedAttachments = "Delete"
)
