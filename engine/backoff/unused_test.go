package backoff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// rig is a cluster in virtual time: machines boot in ten seconds, a plan is made every
// five, a machine without pods goes after a minute, and a ReplicaSet replaces pods.
type rig struct {
	t        *testing.T
	now      time.Time
	pool     *snapshot.Pool
	classes  snapshot.Classes
	stock    supply.Cache
	nodes    []*snapshot.Node
	replicas int
	// cpu is what the next pods request.
	cpu      int
	made     int
	pending  []*snapshot.Pod
	launches []time.Time
	// empty is since when machines are without pods.
	empty map[string]time.Time
	// fate is what befalls a machine that has booted, and whether it takes pods.
	fate func(n *snapshot.Node) bool
}

func newRig(t *testing.T, replicas int) *rig {
	return &rig{
		t: t, now: noon, replicas: replicas, cpu: 5, empty: map[string]time.Time{},
		pool: &snapshot.Pool{Name: "general", Hash: "t", Types: enginetest.Catalogue(8)},
		fate: func(*snapshot.Node) bool { return true },
	}
}

const template = "t"

func (r *rig) pod() *snapshot.Pod {
	r.made++
	yes := true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprintf("web-%04d", r.made), UID: types.UID(fmt.Sprint(r.made)), CreationTimestamp: metav1.NewTime(r.now),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: &yes}},
	}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(r.cpu), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}}}}
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(r.now)}}
	return r.classes.Pod(p)
}

// snapshot is the cluster as the controllers would see it.
func (r *rig) snapshot() *snapshot.Snapshot {
	pool := *r.pool
	s := &snapshot.Snapshot{Now: r.now, Pools: []*snapshot.Pool{backoff.Apply(&pool, r.nodes, r.now)}, Nodes: slices.Clone(r.nodes), Pending: slices.Clone(r.pending)}
	backoff.PauseWorkloads(s)
	return s
}

func (r *rig) step() {
	r.now = r.now.Add(5 * time.Second)
	for i, n := range r.nodes {
		r.nodes[i] = r.boot(n)
	}
	r.nodes = slices.DeleteFunc(r.nodes, func(n *snapshot.Node) bool {
		if !n.Registered() || len(n.Pods) > 0 {
			r.empty[n.Name] = r.now
		}
		return r.now.Sub(r.empty[n.Name]) > time.Minute
	})
	for running := r.running(); running+len(r.pending) < r.replicas; {
		r.pending = append(r.pending, r.pod())
	}
	s := r.snapshot()
	answer := placement.Solve(s, placement.Options{Cache: &r.stock})
	if unused := backoff.FindUnused(s, answer); len(unused) > 0 {
		r.record(unused)
		s = r.snapshot()
		answer = placement.Solve(s, placement.Options{Cache: &r.stock})
	}
	r.bind(answer)
	r.launch(answer)
	r.recount()
}

// recount is what the controller of NodePools does.
func (r *rig) recount() {
	var claims []*snapshot.Claim
	for _, n := range r.nodes {
		claims = append(claims, n.Claim)
	}
	r.pool.Failures = backoff.Count(r.pool.Failures, claims, template)
	r.pool.Failures = backoff.Recover(r.pool, r.nodes, r.now)
}

func (r *rig) running() int {
	n := 0
	for _, node := range r.nodes {
		n += len(node.Pods)
	}
	return n
}

func (r *rig) boot(n *snapshot.Node) *snapshot.Node {
	if n.Object != nil || r.now.Sub(n.Claim.Created) < 10*time.Second {
		if n.Object != nil && !r.fate(n) {
			n.Pods = nil
		}
		return n
	}
	claim := *n.Claim
	claim.NodeName, claim.ProviderID = claim.Name, claim.Name
	claim.Conditions = map[string]snapshot.Condition{}
	for _, c := range []string{snapshot.Launched, snapshot.Registered, snapshot.Initialized} {
		claim.Conditions[c] = snapshot.Condition{Status: corev1.ConditionTrue, Since: r.now}
	}
	out := &snapshot.Node{Name: claim.Name, Claim: &claim, Object: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, CreationTimestamp: metav1.NewTime(r.now), Labels: map[string]string{
			snapshot.RegisteredLabel: "true", snapshot.InitializedLabel: "true", snapshot.PoolLabel: "general", corev1.LabelHostname: claim.Name,
		}},
		Spec:   corev1.NodeSpec{ProviderID: claim.Name},
		Status: corev1.NodeStatus{Allocatable: claim.Allocatable, Capacity: claim.Capacity},
	}}
	r.fate(out)
	return out
}

func (r *rig) record(found map[string][]backoff.Unused) {
	for i, n := range r.nodes {
		if len(found[n.Claim.Name]) == 0 {
			continue
		}
		text, err := json.Marshal(append(backoff.UnusedOf(n.Claim), found[n.Claim.Name]...))
		if err != nil {
			r.t.Fatal(err)
		}
		claim, node := *n.Claim, *n
		claim.Annotations = map[string]string{
			backoff.TemplateAnnotation: template, backoff.LaunchedForAnnotation: n.Claim.Annotations[backoff.LaunchedForAnnotation], backoff.UnusedAnnotation: string(text),
		}
		node.Claim = &claim
		r.nodes[i] = &node
	}
}

// bind puts pods onto the machines that are planned for them.
func (r *rig) bind(answer *plan.Plan) {
	for _, at := range answer.Placements {
		if at.Node.Object == nil || slices.ContainsFunc(at.Pod.Class.Requests, func(want snapshot.Amount) bool {
			q := at.Node.Object.Status.Allocatable[want.Name]
			return q.IsZero()
		}) {
			continue
		}
		i := slices.IndexFunc(r.nodes, func(n *snapshot.Node) bool { return n.Name == at.Node.Name })
		p := at.Pod.DeepCopy()
		p.Spec.NodeName = at.Node.Name
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(r.now)}}
		node := *r.nodes[i]
		node.Pods = append(slices.Clone(node.Pods), r.classes.Pod(p))
		r.nodes[i] = &node
		r.pending = slices.DeleteFunc(r.pending, func(o *snapshot.Pod) bool { return o.UID == p.UID })
	}
}

func (r *rig) launch(answer *plan.Plan) {
	room := limit.New(r.snapshot())
	for i := range answer.NewNodes {
		n := &answer.NewNodes[i]
		if _, over := room.Take(n); over {
			continue
		}
		r.launches = append(r.launches, r.now)
		name := fmt.Sprintf("general-%03d", len(r.launches))
		r.nodes = append(r.nodes, &snapshot.Node{Name: name, Claim: &snapshot.Claim{
			Name: name, UID: types.UID(name), Pool: "general", Created: r.now, Requirements: n.Requirements, Requests: n.Requests,
			Labels:      map[string]string{corev1.LabelInstanceTypeStable: n.Choice.Type.Name},
			Annotations: map[string]string{backoff.TemplateAnnotation: template, backoff.LaunchedForAnnotation: backoff.LaunchedFor(n.Pods)},
			Capacity:    n.Choice.Type.Capacity, Allocatable: n.Choice.Type.Allocatable(), Conditions: map[string]snapshot.Condition{},
		}})
	}
}

// surplus is the largest number of machines that were launched within ten minutes, besides
// one for each replica.
func (r *rig) surplus() int {
	most := 0
	for i, from := range r.launches {
		n := 0
		for _, at := range r.launches[i:] {
			if at.Sub(from) < 10*time.Minute {
				n++
			}
		}
		if i < r.replicas {
			n -= r.replicas - i
		}
		most = max(most, n)
	}
	return most
}

func (r *rig) play(until time.Duration) *rig {
	for r.now.Sub(noon) < until {
		r.step()
	}
	return r
}

func tainted(n *snapshot.Node) bool {
	n.Object.Spec.Taints = []corev1.Taint{{Key: "example.com/quarantine", Effect: corev1.TaintEffectNoExecute}}
	return false
}

// preempt puts pods of another workload in the place of some; the machine goes on to take pods.
func (r *rig) preempt(n *snapshot.Node, victim func(*snapshot.Pod) bool) bool {
	for i, p := range n.Pods {
		if victim(p) {
			other := p.DeepCopy()
			other.OwnerReferences[0].Name = "urgent"
			n.Pods[i] = r.classes.Pod(other)
		}
	}
	return true
}

func TestMachinesThatTheirWorkloadCannotUseAreNotLaunchedWithoutEnd(t *testing.T) {
	for name, test := range map[string]struct {
		replicas int
		fate     func(r *rig) func(n *snapshot.Node) bool
	}{
		"every node is tainted from outside": {1, func(*rig) func(*snapshot.Node) bool { return tainted }},
		"so are those of three replicas":     {3, func(*rig) func(*snapshot.Node) bool { return tainted }},
		"every node is tainted after its pods have run for a while": {1, func(r *rig) func(*snapshot.Node) bool {
			return func(n *snapshot.Node) bool {
				return len(n.Pods) == 0 && len(n.Object.Spec.Taints) == 0 || r.now.Sub(n.Claim.Created) < 100*time.Second || tainted(n)
			}
		}},
		"a DaemonSet's pod preempts the pod a moment later": {1, func(r *rig) func(*snapshot.Node) bool {
			return func(n *snapshot.Node) bool {
				if len(n.Pods) == 0 {
					return true
				}
				n.Object.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10")}
				return false
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.replicas)
			r.fate = test.fate(r)
			r.play(30 * time.Minute)
			if got := r.surplus(); got > 5 {
				t.Errorf("%d surplus machines within ten minutes; launched at %v", got, r.launches)
			}
			if len(r.launches) < test.replicas+4 {
				t.Errorf("only %d launches in half an hour: it is never tried again", len(r.launches))
			}
		})
	}
}

func TestMachinesOfAnOlderTemplateDoNotHideThoseOfThePresentOne(t *testing.T) {
	r := newRig(t, 1)
	unused := func(name, hash string, after time.Duration) *snapshot.Claim {
		return &snapshot.Claim{Name: name, Pool: "general", Annotations: map[string]string{
			backoff.TemplateAnnotation: hash,
			backoff.UnusedAnnotation:   fmt.Sprintf(`[{"workload":"ReplicaSet/default/web","at":%q,"why":"it is too small"}]`, noon.Add(after).Format(time.RFC3339)),
		}}
	}
	claims := []*snapshot.Claim{unused("old", "older", 0), unused("new", template, time.Minute)}
	for range 2 {
		r.pool.Failures = backoff.Count(r.pool.Failures, claims, template)
		if f := r.pool.Failures; len(f) != 1 || f[0].Count != 1 || f[0].Claim != "new" {
			t.Fatalf("%+v", f)
		}
	}
}

func TestAWorkloadThatCanUseItsMachinesAgainIsServedAtOnce(t *testing.T) {
	r := newRig(t, 3)
	r.fate = tainted
	r.play(9 * time.Minute)
	r.fate = func(n *snapshot.Node) bool {
		n.Object.Spec.Taints = nil
		return true
	}
	r.play(25 * time.Minute)
	if len(r.pending) > 0 {
		t.Errorf("%d pods wait, failures %+v", len(r.pending), r.pool.Failures)
	}
	r.replicas = 8
	r.play(27 * time.Minute)
	if len(r.pending) > 0 {
		t.Errorf("after it has recovered, %d pods of a scale-out wait", len(r.pending))
	}
	r.play(40 * time.Minute)
	if len(r.pool.Failures) > 0 {
		t.Errorf("failures %+v", r.pool.Failures)
	}
}

func TestAWorkflowWhosePodsEndInTurnUsesItsMachines(t *testing.T) {
	r := newRig(t, 1)
	r.pool.Types, r.cpu = enginetest.Catalogue(100), 1
	r.fate = func(n *snapshot.Node) bool {
		if len(n.Pods) > 0 && r.now.Sub(n.Pods[0].Status.Conditions[0].LastTransitionTime.Time) >= 20*time.Second {
			n.Ended = map[string]time.Time{backoff.Workload(n.Pods[0]): r.now}
			n.Pods = nil
			r.cpu *= 2 // the next step needs a larger machine
		}
		return true
	}
	for r.cpu < 64 && r.now.Sub(noon) < time.Hour {
		r.step()
	}
	if len(r.pool.Failures) > 0 || len(r.launches) < 4 || r.now.Sub(noon) > 5*time.Minute {
		t.Errorf("%d machines for %d pods, after %v; failures %+v", len(r.launches), r.made, r.now.Sub(noon), r.pool.Failures)
	}
}

func TestAWorkloadThatIsPreemptedLaterHasUsedItsMachines(t *testing.T) {
	const replicas = 20
	r := newRig(t, replicas).play(5 * time.Minute)
	r.replicas = 2 * replicas // those of the other workload as well
	r.fate = func(n *snapshot.Node) bool {
		return r.preempt(n, func(p *snapshot.Pod) bool { return p.CreationTimestamp.Sub(noon) < 5*time.Minute })
	}
	r.play(5*time.Minute + 20*time.Second)
	if len(r.pending) > 0 || len(r.launches) != 2*replicas || len(r.pool.Failures) > 0 {
		t.Errorf("%d pods wait, %d machines were launched, failures %+v", len(r.pending), len(r.launches), r.pool.Failures)
	}
}

func TestWhatKeepsAWorkloadOffItsMachineIsSaid(t *testing.T) {
	for want, change := range map[string]func(*rig, *snapshot.Node, *corev1.Pod){
		"taint agent=starting:NoSchedule that the pod does not tolerate": func(_ *rig, n *snapshot.Node, _ *corev1.Pod) {
			n.Object.Spec.Taints = []corev1.Taint{{Key: "agent", Value: "starting", Effect: corev1.TaintEffectNoSchedule}}
		},
		"kube-scheduler refused it: 0/1 nodes are available": func(_ *rig, _ *snapshot.Node, p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: nomination.SchedulerDisagrees, Status: corev1.ConditionTrue, Message: "0/1 nodes are available", LastProbeTime: metav1.NewTime(noon.Add(time.Hour)),
			})
		},
		"1 cpu left for a pod that requests 5; DaemonSets take 5": func(r *rig, n *snapshot.Node, _ *corev1.Pod) {
			agent, ended, web := r.pod(), r.pod(), r.pod()
			agent.OwnerReferences[0].Kind, ended.Status.Phase, web.OwnerReferences[0].Name = "DaemonSet", corev1.PodSucceeded, "other"
			higher := int32(1)
			web.Spec.Priority = &higher
			n.Pods = []*snapshot.Pod{agent, ended, r.classes.Pod(web.Pod)}
		},
		"its Node has no label feature, and the pod asks for feature In [on]": func(_ *rig, _ *snapshot.Node, p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"feature": "on"}
		},
		"its Node has the label feature=off, and the pod asks for feature In [on]": func(_ *rig, n *snapshot.Node, p *corev1.Pod) {
			metav1.SetMetaDataLabel(&n.Object.ObjectMeta, "feature", "off")
			p.Spec.NodeSelector = map[string]string{"feature": "on"}
		},
		"its topology or volumes do not suit the pod": func(*rig, *snapshot.Node, *corev1.Pod) {},
	} {
		r := newRig(t, 1)
		waiting := r.pod()
		n := r.boot(&snapshot.Node{Claim: &snapshot.Claim{
			Name: "a", Pool: "general", Created: noon.Add(-time.Minute), Annotations: map[string]string{backoff.LaunchedForAnnotation: backoff.LaunchedFor([]*snapshot.Pod{waiting})},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("11"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110")},
		}})
		change(r, n, waiting.Pod)
		waiting = r.classes.Pod(waiting.Pod)
		r.nodes = []*snapshot.Node{n}
		found := backoff.FindUnused(r.snapshot(), &plan.Plan{Unplaced: []plan.Unplaced{{Pod: waiting}}})["a"]
		if len(found) != 1 || found[0].Why != want {
			t.Errorf("%+v, want %q", found, want)
		}
	}
}

// kube-scheduler may give a pod's machine to one that came later, and was planned a machine of its own.
func TestAMachineThatAPodOfTheSameKindHasTakenIsUsed(t *testing.T) {
	for name, c := range map[string]struct {
		cpu    string // of the machine
		change func(p *snapshot.Pod)
		unused int
	}{
		"of the same kind":                     {"8", func(*snapshot.Pod) {}, 0},
		"of the same kind, with room for both": {"10", func(*snapshot.Pod) {}, 1},
		"of the same kind, too small for it":   {"4", func(*snapshot.Pod) {}, 1},
		"of a DaemonSet":                       {"8", func(p *snapshot.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }, 1},
		"that has ended":                       {"8", func(p *snapshot.Pod) { p.Status.Phase = corev1.PodSucceeded }, 1},
		"of the same kind, and only planned":   {"8", nil, 1},
		"of another size": {"8", func(p *snapshot.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("4")
		}, 1},
		"that is kept apart from others": {"8", func(p *snapshot.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}}}}
		}, 1},
	} {
		r := newRig(t, 1)
		waiting, other := r.pod(), r.pod()
		n := r.boot(&snapshot.Node{Claim: &snapshot.Claim{
			Name: "a", Pool: "general", Created: noon.Add(-time.Minute), Annotations: map[string]string{backoff.LaunchedForAnnotation: backoff.LaunchedFor([]*snapshot.Pod{waiting})},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("20")},
		}})
		other.OwnerReferences[0].Name = "other"
		answer := &plan.Plan{Unplaced: []plan.Unplaced{{Pod: waiting}}}
		if c.change == nil {
			answer.Placements = []plan.Placement{{Pod: other, Node: n}}
		} else {
			c.change(other)
			n.Pods = []*snapshot.Pod{r.classes.Pod(other.Pod)}
		}
		r.nodes = []*snapshot.Node{n}
		if found := backoff.FindUnused(r.snapshot(), answer); len(found) != c.unused {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Of pods with the same host port a machine holds one, however much room there is.
func TestAMachineWhosePortAPodOfTheSameKindHasTakenIsUsed(t *testing.T) {
	r := newRig(t, 1)
	pod := func(owner string) *snapshot.Pod {
		p := r.pod().Pod
		p.OwnerReferences[0].Name = owner
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		return r.classes.Pod(p)
	}
	waiting := pod("web")
	n := r.boot(&snapshot.Node{Claim: &snapshot.Claim{
		Name: "a", Pool: "general", Created: noon.Add(-time.Minute), Annotations: map[string]string{backoff.LaunchedForAnnotation: backoff.LaunchedFor([]*snapshot.Pod{waiting})},
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("20")},
	}})
	n.Pods, r.nodes = []*snapshot.Pod{pod("other")}, []*snapshot.Node{n}
	if found := backoff.FindUnused(r.snapshot(), &plan.Plan{Unplaced: []plan.Unplaced{{Pod: waiting}}}); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// A pod that takes the room of a buffer uses what was launched for it.
func TestAMachineOfABufferIsUsedByAnyPod(t *testing.T) {
	for name, c := range map[string]struct {
		plan   func(n *snapshot.Node, chunk, pod *snapshot.Pod) *plan.Plan
		unused int
	}{
		"no pod": {func(_ *snapshot.Node, chunk, _ *snapshot.Pod) *plan.Plan {
			return &plan.Plan{UnplacedChunks: []plan.Unplaced{{Pod: chunk}}}
		}, 1},
		"no pod, and the chunk gets another": {func(_ *snapshot.Node, chunk, _ *snapshot.Pod) *plan.Plan {
			return &plan.Plan{NewNodes: []plan.NewNode{{Pool: "general", Expected: []*snapshot.Pod{chunk}}}}
		}, 1},
		"a pod that runs": {func(n *snapshot.Node, chunk, pod *snapshot.Pod) *plan.Plan {
			n.Pods = []*snapshot.Pod{pod}
			return &plan.Plan{UnplacedChunks: []plan.Unplaced{{Pod: chunk}}}
		}, 0},
		"a pod that is to run": {func(n *snapshot.Node, chunk, pod *snapshot.Pod) *plan.Plan {
			return &plan.Plan{Placements: []plan.Placement{{Pod: pod, Node: n}}, UnplacedChunks: []plan.Unplaced{{Pod: chunk}}}
		}, 0},
		"a chunk, and another lacks room": {func(n *snapshot.Node, chunk, _ *snapshot.Pod) *plan.Plan {
			return &plan.Plan{Expected: []plan.Placement{{Pod: chunk, Node: n}}, UnplacedChunks: []plan.Unplaced{{Pod: chunk}}}
		}, 0},
	} {
		r := newRig(t, 1)
		chunk := &snapshot.Pod{Pod: new(corev1.Pod), Class: r.pod().Class, Buffer: &snapshot.Buffer{Namespace: "default", Name: "room"}}
		n := r.boot(&snapshot.Node{Claim: &snapshot.Claim{
			Name: "a", Pool: "general", Created: noon.Add(-time.Minute), Annotations: map[string]string{backoff.LaunchedForAnnotation: "CapacityBuffer/default/room=3"},
		}})
		r.nodes = []*snapshot.Node{n}
		answer := c.plan(n, chunk, r.pod())
		if found := backoff.FindUnused(r.snapshot(), answer); len(found) != c.unused {
			t.Errorf("%s uses it: %+v", name, found)
		}
	}
}

// A pause holds all chunks of a buffer back, and then all but one.
func TestABufferIsPausedAsAWorkloadIs(t *testing.T) {
	for name, c := range map[string]struct {
		since       time.Duration
		first, rest bool
	}{"in a pause": {time.Second, true, true}, "after it": {90 * time.Minute, false, true}} {
		r := newRig(t, 1)
		r.pool.Failures = []snapshot.Failure{{Workload: "CapacityBuffer/default/room", Count: 5, Last: noon.Add(-c.since)}}
		b := &snapshot.Buffer{Namespace: "default", Name: "room", Chunk: r.pod(), Count: 2}
		other := &snapshot.Buffer{Namespace: "default", Name: "unresolved"}
		s := r.snapshot()
		s.Buffers = []*snapshot.Buffer{b, other}
		backoff.PauseWorkloads(s)
		chunks := snapshot.Chunks(s.Buffers)
		if first, rest := len(chunks[0].Class.Paused) > 0, len(chunks[1].Class.Paused) > 0; first != c.first || rest != c.rest || b.Rest != nil || s.Buffers[1] != other {
			t.Errorf("%s: the first chunk is paused %t, the others %t", name, first, rest)
		}
	}
}

func TestATrialThatItsWorkloadLeftToOthersHoldsNoLaterPodsBack(t *testing.T) {
	r := newRig(t, 1)
	r.fate = tainted
	r.play(20 * time.Second)
	r.fate = func(n *snapshot.Node) bool {
		if n.Name == "general-001" {
			return tainted(n)
		}
		n.Object.Spec.Taints = nil
		return r.preempt(n, func(*snapshot.Pod) bool { return r.now.Sub(noon) < 2*time.Minute })
	}
	r.play(3 * time.Minute)
	launched := len(r.launches)
	r.replicas = 2
	r.play(3*time.Minute + 20*time.Second)
	if len(r.pool.Failures) == 0 || len(r.launches) != launched+1 || len(r.pending) > 0 {
		t.Errorf("%d machines are launched, %d pods wait, failures %+v", len(r.launches)-launched, len(r.pending), r.pool.Failures)
	}
}
