package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// MinimumDrain is how long a node with a claim is kept after it was marked for disruption,
// or its drain began, so that a pod which was being bound meanwhile is seen.
const MinimumDrain = 5 * time.Second

// How soon to look again.
const (
	// evictAgain is for pods whose eviction was asked for: the answer may be "not
	// now", and a watch may not show yet what was agreed to.
	evictAgain = time.Second
	// recheck is for what callers hear of when it changes (pods, budgets,
	// attachments), in case they did not.
	recheck = 10 * time.Second
	// terminatePoll is for the cloud, which does not tell when a machine is gone.
	terminatePoll = 5 * time.Second
)

// ExcludeLoadBalancerLabel takes a node out of load balancers; its value is
// LoadBalancerValue.
const (
	ExcludeLoadBalancerLabel = corev1.LabelNodeExcludeBalancers
	LoadBalancerValue        = "karpenter"
)

// View is what is known about a node that is to go away.
type View struct {
	Now time.Time
	// Node has a Node object; its claim may be nil.
	Node *snapshot.Node
	// Others are further Nodes of the same instance, as a kubelet makes one that comes back
	// under another name. Their pods and volumes leave like those of Node.
	Others []*snapshot.Node
	// Budgets are the cluster's PDBs.
	Budgets *eviction.Budgets
	// Answers are those of the API server to the latest eviction or deletion of pods, budgets
	// aside.
	Answers map[types.UID]Answer
	// Attachments are those that name a Node of the instance, by name.
	Attachments []*storagev1.VolumeAttachment
	// Cloud is the cloud's view of the machine's volumes; nil if it was not asked or
	// cannot tell.
	Cloud *CloudVolumes
	// Volumes finds the volume behind a pod's claim, and what its driver needs.
	Volumes snapshot.Volumes
	// Waiting are the pods elsewhere that want a volume of this node; see the
	// function of that name.
	Waiting map[types.NamespacedName]*corev1.Pod
	// Deadline is when the node must be empty at the latest, zero for never.
	Deadline time.Time
	// Ends is when the cloud takes the machine at the latest, zero if it does not.
	Ends time.Time
	// Machine is what the cloud has confirmed about the machine.
	Machine Machine
	// Policy is that of the machine's pool; DaemonSets are the cluster's.
	Policy     snapshot.Termination
	DaemonSets []*snapshot.DaemonSet
	// Jobs are those that the policy's hooks may wait for, by namespace and name.
	Jobs []*batchv1.Job
}

// Answer is what the API server said when it was asked to take a pod away, and when.
type Answer struct {
	// Words are those by which it refused, empty if it agreed.
	Words string
	At    time.Time
}

// Machine is what the cloud says of a machine.
type Machine string

const (
	// Exists is for a machine that may be running.
	Exists Machine = ""
	// Stopped is for one that runs no more and could be started again.
	Stopped Machine = "stopped"
	// Gone is for one that does not exist any more.
	Gone Machine = "gone"
)

// Phase is how far the removal of a node has come.
type Phase string

const (
	Cordon       Phase = "Cordon"
	PreDrain     Phase = "PreDrain"
	Drain        Phase = "Drain"
	Detach       Phase = "Detach"
	PreTerminate Phase = "PreTerminate"
	Terminate    Phase = "Terminate"
	Release      Phase = "Release"
	Finish       Phase = "Finish"
)

// Step is what to do now.
type Step struct {
	Phase Phase
	// Evict are pods to evict, those first that lose most if their turn does not come, those
	// that were refused last, in the order of their refusals; Delete are pods to delete without asking budgets, by namespace and name.
	Evict  []*corev1.Pod
	Delete []Deletion
	// Left is what an evicted pod may have of its grace period before the cloud takes
	// the machine; zero if it does not.
	Left time.Duration
	// Pods and Volumes are the verdicts on everything that is still on the node,
	// waited for or not; by namespace and name. Volumes without an attachment
	// come last.
	Pods, Volumes []Verdict
	// Hooks are the verdicts on those of the phase, in the policy's order; also on
	// those that have just passed.
	Hooks []Verdict
	// LeftBehind are the volumes that are still attached although their wait is
	// over, because a deadline or the policy says so.
	LeftBehind []Verdict
	// Forgetful are the DaemonSets of the node's agents that lack a toleration.
	Forgetful []plan.Reason
	// Conditions to set on the claim.
	Conditions []plan.Condition
	// Wake is when to look again although no pod of the node, no budget and no
	// attachment changed; zero for at once, after what the phase asks for is done.
	Wake time.Time
}

// Stuck reports whether the step waits for a volume that has been in one state for
// too long.
func (s Step) Stuck() bool {
	return s.Phase == Detach && slices.ContainsFunc(s.Volumes, func(x Verdict) bool { return x.Waits && x.Code == plan.VolumeStuck })
}

// Fitted is the grace period that an evicted pod gets so that it ends before its
// machine; zero for its own.
func (s Step) Fitted(p *corev1.Pod) time.Duration {
	if s.Left > 0 && graceOf(p) > s.Left {
		return s.Left
	}
	return 0
}

// by brings Wake forward to a time, unless that is not known.
func (s *Step) by(at time.Time) {
	if !at.IsZero() && at.Before(s.Wake) {
		s.Wake = at
	}
}

// Deletion is a pod and what is left of its grace period.
type Deletion struct {
	Pod   *corev1.Pod
	Grace time.Duration
	// Unguarded says that its budgets do not count; otherwise there is no time to ask them.
	Unguarded bool
}

// Verdict is a pod or attachment that is still there.
type Verdict struct {
	plan.Reason
	// Waits is true if the phase cannot end before it is gone.
	Waits bool
}

// Next decides on the next step.
func Next(v View) Step {
	v.Policy = v.Policy.Defaulted()
	switch {
	case v.Machine != Exists && !v.ready():
		return release(v)
	case slices.ContainsFunc(v.nodes(), func(n *snapshot.Node) bool { return !Cordoned(n.Object) }):
		return Step{Phase: Cordon}
	}
	hooked := hooks(v, snapshot.BeforeDrain)
	if hooked.Phase != "" {
		return hooked
	}
	r := newRoster(v)
	s := pods(v, r)
	s.Forgetful, s.Hooks = forgetful(r), hooked.Hooks
	s.Conditions = append(hooked.Conditions, s.Conditions...)
	if s.Phase == Drain {
		return s
	}
	detach := volumes(v, r)
	s.Phase, s.Volumes, s.LeftBehind, s.Wake = detach.Phase, detach.Volumes, detach.LeftBehind, detach.Wake
	s.Conditions = append(s.Conditions, detach.Conditions...)
	if s.Phase == Detach {
		return s
	}
	if v.Machine == Gone {
		return release(v)
	}
	hooked = hooks(v, snapshot.BeforeTermination)
	s.Hooks = append(s.Hooks, hooked.Hooks...)
	s.Conditions = append(s.Conditions, hooked.Conditions...)
	if hooked.Phase != "" {
		s.Phase, s.Wake = hooked.Phase, hooked.Wake
		return s
	}
	s.Phase, s.Wake = Terminate, v.Now.Add(terminatePoll)
	return s
}

// nodes are those of the instance, each with the claim.
func (v View) nodes() []*snapshot.Node {
	out := []*snapshot.Node{v.Node}
	for _, o := range v.Others {
		n := *o
		n.Claim = v.Node.Claim
		out = append(out, &n)
	}
	return out
}

// ready reports whether a Node of the instance is.
func (v View) ready() bool {
	return slices.ContainsFunc(v.nodes(), func(n *snapshot.Node) bool { return snapshot.Ready(n.Object) })
}

// inUse are the volumes that the kubelet of any Node of the instance has in use.
func (v View) inUse() []corev1.UniqueVolumeName {
	var out []corev1.UniqueVolumeName
	for _, n := range v.nodes() {
		out = append(out, n.Object.Status.VolumesInUse...)
	}
	return out
}

// reported are those that a kubelet which answers has in use: what a silent one said last is no news.
func (v View) reported() []corev1.UniqueVolumeName {
	var out []corev1.UniqueVolumeName
	for _, n := range v.nodes() {
		if snapshot.Ready(n.Object) {
			out = append(out, n.Object.Status.VolumesInUse...)
		}
	}
	return out
}

// Empty is the step by which the pods leave a node that stays, for its restart: first the
// hooks before a drain, then the pods, unless they are kept. Its phase is empty when nothing
// is waited for any more. The node is closed since a time, and nothing of it is to be noted
// on the claim.
func Empty(v View, since time.Time, keepPods bool) Step {
	v.Policy = v.Policy.Defaulted()
	node, claim := *v.Node, *v.Node.Claim
	claim.Conditions = map[string]snapshot.Condition{
		snapshot.DrainHooksPassed: {Status: corev1.ConditionUnknown, Since: since},
		snapshot.DisruptionReason: {Status: corev1.ConditionTrue, Since: since},
	}
	node.Claim, v.Node = &claim, &node
	hooked := hooks(v, snapshot.BeforeDrain)
	if hooked.Phase != "" || keepPods {
		return hooked
	}
	s := pods(v, newRoster(v))
	s.Hooks = hooked.Hooks
	return s
}

// DeadlineAnnotation is a claim's, in Karpenter's words: when its node must be
// empty, as RFC 3339.
const DeadlineAnnotation = "karpenter.sh/nodeclaim-termination-timestamp"

// EndsAnnotation is a claim's: when the cloud takes its machine at the latest, as RFC
// 3339. Nothing is forced because of it.
const EndsAnnotation = "millwright.dev/ends"

// Deadline is when the node of a claim must be empty, zero for never.
func Deadline(c *snapshot.Claim) (time.Time, error) {
	at, err := Noted(c)
	if at.Equal(Never) {
		return time.Time{}, err
	}
	return at, err
}

// Noted is the deadline that is on a claim, [Never] included; zero if there is none.
func Noted(c *snapshot.Claim) (time.Time, error) { return timeOf(c, DeadlineAnnotation) }

// Ends is when the cloud takes the machine of a claim at the latest, zero if that is
// not known or it does not.
func Ends(c *snapshot.Claim) (time.Time, error) { return timeOf(c, EndsAnnotation) }

// Never is a deadline that does not come; a claim that has it gets none from its
// terminationGracePeriod.
var Never = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// IgnoresAnnotation is a claim's: a list, with commas, of the pods whose protection
// does not count when its node is drained.
const IgnoresAnnotation = "millwright.dev/drain-ignores"

// The protections that may not count.
const (
	// ProtectedPods have the annotation karpenter.sh/do-not-disrupt.
	ProtectedPods = "do-not-disrupt"
	// GuardedPods are held back by PodDisruptionBudgets.
	GuardedPods = "pod-disruption-budgets"
)

// Ignores reports whether a protection does not count when a claim's node is drained.
func Ignores(c *snapshot.Claim, protection string) bool {
	return c != nil && slices.Contains(strings.Split(c.Annotations[IgnoresAnnotation], ","), protection)
}

func timeOf(c *snapshot.Claim, annotation string) (time.Time, error) {
	if c == nil || c.Annotations[annotation] == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, c.Annotations[annotation])
	if err != nil {
		return time.Time{}, fmt.Errorf("reading annotation %s of NodeClaim %s: %w", annotation, c.Name, err)
	}
	return at, nil
}

// Cordoned reports whether a node carries the taint and the label that come
// first.
func Cordoned(node *corev1.Node) bool {
	return eviction.Marked(node) && node.Labels[ExcludeLoadBalancerLabel] == LoadBalancerValue
}

// ApplyCordon puts them onto a copy of the Node.
func ApplyCordon(node *corev1.Node) {
	eviction.Mark(node)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[ExcludeLoadBalancerLabel] = LoadBalancerValue
}

// drainBegan is when the drain began, zero if that is not on the claim yet.
func drainBegan(v View) time.Time {
	if v.Node.Claim == nil {
		return time.Time{}
	}
	return v.Node.Claim.Conditions[snapshot.Drained].Since
}
