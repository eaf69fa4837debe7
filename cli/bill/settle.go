package bill

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/provision"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/disruption/whatif"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const (
	// horizon is how far ahead is looked; budgets that open once a week are met.
	horizon = 7 * 24 * time.Hour
	// rounds bounds the decisions, for clusters that never come to rest.
	rounds = 2000
	// coming is how long a machine takes to come, and pods to leave one that goes.
	coming = time.Minute
)

// world is a cluster in which decisions come true.
type world struct {
	Input
	// pools are as the API server would have them, with what the controller notes on them.
	pools map[string]*karpv1.NodePool
	now   time.Time
	made  int

	causes                     map[disruption.Cause]int
	evicted, removed, launched map[string]int // by pool
}

func newWorld(in Input) *world {
	w := &world{
		Input: in, now: in.Now, pools: map[string]*karpv1.NodePool{}, causes: map[disruption.Cause]int{},
		evicted: map[string]int{}, removed: map[string]int{}, launched: map[string]int{},
	}
	for _, o := range in.Objects {
		if np, ok := o.(*karpv1.NodePool); ok {
			w.pools[np.Name] = np
		}
	}
	return w
}

func (w *world) look() *snapshot.Snapshot { return w.Store.Snapshot(w.now, w.Types) }

// settle has decisions come true until none is left within the horizon, and reports whether
// that was so.
func (w *world) settle() bool {
	for turn := int64(1); turn <= rounds; turn++ {
		s := w.look()
		if w.arrive(s) {
			continue
		}
		w.Options.Turn = turn
		d := disruption.Decide(s, w.Options)
		done := w.schedule(s)
		if w.carryOut(s, d) || done {
			w.now = w.now.Add(coming)
			continue
		}
		if d.Recheck.IsZero() || d.Recheck.Sub(w.Now) > horizon {
			return true
		}
		w.now = d.Recheck
	}
	return false
}

// arrive has machines join the cluster that were launched.
func (w *world) arrive(s *snapshot.Snapshot) bool {
	came := false
	for _, n := range s.Nodes {
		if n.Object != nil || n.Claim == nil || !n.Claim.Deleted.IsZero() {
			continue
		}
		claim, ok := w.Store.NodeClaim(n.Claim.Name)
		if !ok || len(claim.Status.Allocatable) == 0 {
			continue // it is not known what it will be
		}
		w.join(claim)
		came = true
	}
	return came
}

// join makes the Node of a claim, ready for pods.
func (w *world) join(old *karpv1.NodeClaim) {
	claim := old.DeepCopy()
	claim.Status.NodeName = claim.Name
	if claim.Status.ProviderID == "" {
		claim.Status.ProviderID = "planned:///" + claim.Name
	}
	claim.Status.Conditions = nil
	for _, kind := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: metav1.NewTime(w.now)})
	}
	labels := maps.Clone(claim.Labels)
	labels[corev1.LabelHostname] = claim.Name
	labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	w.put(claim)
	w.put(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, UID: "node-" + claim.UID, Labels: labels, Annotations: claim.Annotations, CreationTimestamp: metav1.NewTime(w.now)},
		Spec:       corev1.NodeSpec{ProviderID: claim.Status.ProviderID, Taints: claim.Spec.Taints},
		Status: corev1.NodeStatus{
			Capacity: claim.Status.Capacity, Allocatable: claim.Status.Allocatable,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now)}},
		},
	})
}

// put stores an object that is newer than whatever is there.
func (w *world) put(o client.Object) {
	o.SetResourceVersion("")
	w.Store.Update(o)
}

// schedule places the pods that wait, and launches room for buffers.
func (w *world) schedule(s *snapshot.Snapshot) bool {
	if len(s.Pending)+len(s.Buffers) == 0 {
		return false
	}
	p := placement.Solve(s, w.Options.Placement)
	for i := range p.NewNodes {
		w.launch(&p.NewNodes[i])
	}
	for _, at := range p.Placements {
		w.bind(at.Pod.Pod, at.Node.Name)
	}
	return len(p.NewNodes)+len(p.Placements) > 0
}

// launch makes a machine and binds the pods that it is for.
func (w *world) launch(n *plan.NewNode) {
	np := w.pools[n.Pool]
	if np == nil {
		return
	}
	claim := provision.Claim(np, n)
	claim.Name, claim.GenerateName = w.name(n.Pool), ""
	claim.UID, claim.CreationTimestamp = types.UID(fmt.Sprint(claim.Name, w.now.UnixNano())), metav1.NewTime(w.now)
	maps.Copy(claim.Labels, n.Choice.Labels())
	claim.Status.Capacity, claim.Status.Allocatable = n.Choice.Type.Capacity, n.Choice.Type.Allocatable()
	w.launched[n.Pool]++
	w.join(claim)
	for _, p := range n.Pods {
		w.bind(p.Pod, claim.Name)
	}
}

// name is one that no machine of the pool has.
func (w *world) name(pool string) string {
	for {
		w.made++
		name := fmt.Sprintf("%s-new-%d", pool, w.made)
		if _, taken := w.Store.NodeClaim(name); !taken {
			return name
		}
	}
}

// bind puts a pod onto a Node.
func (w *world) bind(p *corev1.Pod, node string) {
	pod := p.DeepCopy()
	since := metav1.NewTime(w.now)
	pod.Spec.NodeName, pod.DeletionTimestamp = node, nil
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &since,
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since}},
	}
	w.put(pod)
}

// carryOut has the commands of a decision come true.
func (w *world) carryOut(s *snapshot.Snapshot, d *disruption.Decision) bool {
	w.remember(s, d)
	for _, c := range d.Commands {
		for _, n := range c.Nodes {
			w.remove(n)
		}
		w.causes[c.Cause] += len(c.Nodes)
		if c.Step == disruption.Mark || c.Step == disruption.Launch {
			for i := range c.Launch {
				w.launch(&c.Launch[i])
			}
		}
		for _, at := range c.Placements {
			w.bind(at.Pod.Pod, at.Node.Name)
		}
	}
	for _, o := range d.Overdue {
		w.remove(o.Node)
		w.causes[o.Cause]++
	}
	return len(d.Commands)+len(d.Overdue) > 0
}

// remember notes on pools what the controller would.
func (w *world) remember(s *snapshot.Snapshot, d *disruption.Decision) {
	going := make([]disruption.Command, len(d.Commands))
	for i, c := range d.Commands {
		c.Step = disruption.Remove
		going[i] = c
	}
	for _, p := range s.Pools {
		moves := disruption.Note(s, going, p)
		text, err := json.Marshal(moves)
		if moves == nil || err != nil || w.pools[p.Name] == nil {
			continue
		}
		np := w.pools[p.Name].DeepCopy()
		metav1.SetMetaDataAnnotation(&np.ObjectMeta, cluster.MovesAnnotation, string(text))
		w.pools[p.Name] = np
		w.put(np)
	}
}

// remove takes a machine away; its pods wait for a place.
func (w *world) remove(n *snapshot.Node) {
	w.removed[n.Claim.Pool]++
	for _, p := range n.Pods {
		if !eviction.Reschedulable(p.Pod) {
			w.Store.Delete(p.Pod)
		}
	}
	for _, p := range whatif.Movers(n) {
		w.evicted[n.Claim.Pool]++
		w.put(p.Pod.DeepCopy())
	}
	if n.Object != nil {
		w.Store.Delete(n.Object)
	}
	if claim, ok := w.Store.NodeClaim(n.Claim.Name); ok {
		w.Store.Delete(claim)
	}
}
