package nomination_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Clusters of 200 to 1,000 pods under rules of all kinds, in virtual time: every pod is
// bound, and to machines of the first plan but for one in a hundred, wherever kube-scheduler
// can be told of the plan. It can only in part where several workloads that are spread over
// zones share machines: it counts the pods that are nominated to a node, so of the one whose
// turn it is few can be, and others take its room on nodes where they have none to be kept.
// That costs one machine in five, one in three in some of the clusters, mostly small ones, and 2 % of the
// price.
func TestKubeSchedulerNeedsNoSecondLaunch(t *testing.T) {
	contested, more, other, otherMore := 0, 0, 0, 0
	plans, paid := 0.0, 0.0
	for i := range 20 {
		if !property.Some(i) {
			continue
		}
		t.Run(fmt.Sprint("seed ", i+1), func(t *testing.T) {
			f := newFollow(t, uint64(i+1))
			f.run()
			plans, paid = plans+f.price, paid+f.paid
			for pool, n := range f.launched {
				if f.zoned[pool] > 1 {
					contested, more = contested+f.planned[pool], more+n-f.planned[pool]
				} else {
					other, otherMore = other+f.planned[pool], otherMore+n-f.planned[pool]
				}
			}
			t.Logf("after %v: %d pods tried, %d nominations forgotten, %d written", f.now.Sub(noon.Add(boot+f.lead)), f.scheduler.tried, f.scheduler.cleared, f.wrote)
		})
	}
	t.Logf("%d machines more than %d that were planned where workloads contest each other's room, %d more than %d elsewhere; %.1f %% more $", more, contested, otherMore, other, 100*(paid/plans-1))
	if more*100 > 30*contested || otherMore*100 > other || paid > 1.02*plans {
		t.Error("too many")
	}
}

// In such clusters Nodes that become ready one after the other cost one machine in four: each
// wave of pods that kube-scheduler tries makes it forget nominations.
func TestNodesOfAllKindsOfWorkloadsThatBecomeReadyApart(t *testing.T) {
	t.Parallel()
	planned, launched := 0, 0
	for i, seed := range []uint64{1, 4, 7, 10} {
		if !property.Some(i) {
			continue
		}
		f := newFollow(t, seed)
		f.apart = nomination.Together
		f.run()
		for pool, n := range f.launched {
			planned, launched = planned+f.planned[pool], launched+n
		}
	}
	if t.Logf("%d machines for %d planned", launched, planned); launched*100 > planned*125 {
		t.Error("too many")
	}
}

// Nodes that become ready within a moment open together, and take no other pods than planned
// although those of one class are not nominated, also where the others are nominated slowly, or
// where startup taints go long after. Where they are further apart than Nodes wait for each
// other, each wave of pods that kube-scheduler tries costs nominations, but hardly a machine.
func TestNodesThatBecomeReadyApart(t *testing.T) {
	for _, row := range []struct {
		apart, lead, agent, write time.Duration
		nominations               float64 // a pod
	}{
		{nomination.Together, lead, 0, perWrite, 0.34},
		{time.Second, 0, 0, 4 * perWrite, 0.34},
		{10 * time.Second, lead, 0, perWrite, 0.34},
		{10 * time.Second, 25 * time.Second, 0, perWrite, 0.34},
		{3 * time.Second, lead, 12 * time.Second, perWrite, 0.34},
		{20 * time.Second, 25 * time.Second, 0, perWrite, 2.4},
		{40 * time.Second, lead, 0, perWrite, 2.4},
	} {
		t.Run(fmt.Sprint(row.apart, row.lead, row.agent, row.write), func(t *testing.T) {
			t.Parallel()
			planned, launched, wrote, pods := 0, 0, 0, 0
			for seed := range uint64(4) {
				if !property.Some(int(seed)) {
					continue
				}
				f := emptyFollow(t, seed)
				f.apart, f.lead, f.agent, f.each = row.apart, row.lead, row.agent, row.write
				for _, size := range []string{"large count=100 cpu=3500m memory=14Gi", "medium count=233 cpu=900m memory=3100Mi", "small count=666 cpu=250m memory=500Mi"} {
					name, _, _ := strings.Cut(size, " ")
					f.say("pod %s select=team:blue labels=app:%s", size, name)
				}
				f.run()
				planned, launched, wrote, pods = planned+f.planned["blue"], launched+f.machines, wrote+f.wrote, pods+999
			}
			each := float64(wrote) / float64(pods)
			t.Logf("%d machines for %d planned, %.2f nominations a pod", launched, planned, each)
			if launched > planned || each > row.nominations {
				t.Error("too many")
			}
		})
	}
}

// Pods of a few sizes that come one by one, for which machines are launched, wait about as long for
// them as each other: none has its place taken again and again by those that come later.
func TestPodsThatComeOneByOneWaitAlike(t *testing.T) {
	for _, row := range []struct {
		pods, machines int
		apart          time.Duration
	}{{40, 41, 4 * time.Second}, {100, 24, 100 * time.Millisecond}} {
		f := emptyFollow(t, 1)
		for i := range row.pods {
			size := "cpu=900m memory=1500Mi"
			if i%3 == 0 {
				size = "cpu=3500m memory=6Gi"
			}
			f.coming = append(f.coming, coming{noon.Add(time.Duration(i) * row.apart), fmt.Sprintf("pod web%03d select=team:blue %s", i, size)})
		}
		f.run()
		longest := time.Duration(0)
		for _, p := range f.world.Pending {
			longest = max(longest, p.Status.Conditions[0].LastTransitionTime.Sub(p.CreationTimestamp.Time))
		}
		if t.Logf("%d machines, the longest wait was %v", f.machines, longest); longest > boot+lead+5*time.Second || f.machines > row.machines {
			t.Error("too long, or too many")
		}
	}
}

// Where Nodes take first the pods that they were launched for, kube-scheduler has no choice:
// in no pool of any of these clusters is a machine launched besides those of the plan.
func TestNodesThatTakePlannedPodsFirstNeedNoSecondLaunch(t *testing.T) {
	for seed := range uint64(12) {
		if !property.Some(int(seed)) {
			continue
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f := newFollow(t, seed)
			for _, p := range f.world.Pools {
				p.Policy.Initialization.PlannedFirst = true
			}
			f.run()
			if !maps.Equal(f.launched, f.planned) {
				t.Errorf("%v machines planned, %v launched", f.planned, f.launched)
			}
			t.Logf("after %v: %d pods tried, %d nominations forgotten, %d written", f.now.Sub(noon.Add(boot+f.lead)), f.scheduler.tried, f.scheduler.cleared, f.wrote)
			if f.opened != f.machines {
				t.Errorf("%d of %d Nodes have been opened for other pods", f.opened, f.machines)
			}
		})
	}
}

// How quick the parts of a cluster are.
const (
	perPod   = time.Millisecond       // kube-scheduler tries a pod
	perNode  = time.Millisecond / 2   // from one Node that begins to take pods to the next
	latency  = 30 * time.Millisecond  // from a change until nominations begin to be written
	perWrite = 5 * time.Millisecond   // a write: 200 a second, as --kube-client-qps has it
	poll     = 100 * time.Millisecond // it is looked whether Nodes are still held
	boot     = 20 * time.Second       // from a launch until the first Node joins
	lead     = 5 * time.Second        // from then until it is ready
)

// follow is a random cluster: pods are planned, machines come, a scheduler binds, and
// pods without a place are planned again.
type follow struct {
	*rand.Rand
	t         *testing.T
	world     enginetest.Scenario
	scheduler scheduler
	now       time.Time
	arrivals  []arrival
	// coming are pods that are created later, in order.
	coming []coming
	// zoned counts, by pool, the workloads with a required spread over zones, planned the
	// machines of the first plan and launched all.
	zoned, planned, launched map[string]int
	machines                 int
	// price is that of the first plan, paid that of all machines, in $/h.
	price, paid float64
	// opened counts the Nodes that take all pods after those planned for them.
	opened int
	// apart is the time over which Nodes that are launched together become ready.
	apart time.Duration
	// lead is how long before it is ready a Node is there, and agent how long after that it has
	// a startup taint.
	lead, agent time.Duration
	// each is how long a write of a nomination takes.
	each time.Duration
	// writing are nominations to be written, wrote counts those that were.
	writing []nomination.Change
	wrote   int
}

// coming is a pod that is created at some time, as a line of a scenario.
type coming struct {
	at  time.Time
	pod string
}

// arrival is a machine that takes no pods yet.
type arrival struct {
	ready  time.Time // when it is
	bare   time.Time // when its startup taint is gone
	free   time.Time // since when it is not held any more
	node   *snapshot.Node
	object *corev1.Node // its Node
}

var (
	notReady = corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	starting = corev1.Taint{Key: "example.com/agent", Effect: corev1.TaintEffectNoSchedule}
)

func newFollow(t *testing.T, seed uint64) *follow {
	f := emptyFollow(t, seed)
	total := 200 + f.IntN(800)
	for i := 0; len(f.world.Pending) < total; i++ {
		f.workload(fmt.Sprintf("app%02d", i), min(total-len(f.world.Pending), 10+f.IntN(120)))
	}
	return f
}

// emptyFollow is a cluster without pods.
func emptyFollow(t *testing.T, seed uint64) *follow {
	f := &follow{Rand: rand.New(rand.NewPCG(seed, 5)), t: t, now: noon, lead: lead, each: perWrite, zoned: map[string]int{}, launched: map[string]int{}}
	for _, family := range []struct {
		name  string
		gib   int
		price float64
	}{{"c", 2, 0.0425}, {"m", 4, 0.048}, {"r", 8, 0.063}} {
		for i, cpus := range []int{1, 2, 4, 8, 16, 32, 48, 64} {
			for _, arch := range []string{"amd64", "arm64"} {
				f.say("type %s-%s-%d cpu=%d memory=%dGi reserved-cpu=%dm price=%.4f pods=%d arch=%s zones=a,b,c",
					family.name, arch, cpus, cpus, cpus*family.gib, 60+10*i, float64(cpus)*family.price, 8+30*i, arch)
			}
		}
	}
	f.say("pool blue require=arch:In:amd64 labels=team:blue")
	f.say("pool green require=arch:In:arm64 labels=team:green")
	f.say("pool red require=arch:In:amd64 labels=team:red taints=dedicated=red:NoSchedule")
	return f
}

func (f *follow) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !f.world.Do(f.t, storytest.Parse(line)) {
		f.t.Fatal(line)
	}
}

func (f *follow) pick(list ...string) string { return list[f.IntN(len(list))] }

func (f *follow) workload(name string, replicas int) {
	cpu, memory := f.pick("100m", "250m", "500m", "900m", "1500m", "3", "7"), f.pick("128Mi", "512Mi", "1Gi", "3Gi", "7Gi")
	team, more, few := f.pick("blue", "green", "red"), "", 1+replicas/6
	switch f.IntN(9) {
	case 0:
		more = fmt.Sprintf(" spread=zone:%d:app:%s", 1+f.IntN(2), name)
	case 1:
		more = fmt.Sprintf(" spread=host:%d:app:%s", few+f.IntN(4), name)
	case 2:
		more = fmt.Sprintf(" spread=zone:1:app:%s,host:%d:app:%s", name, few, name)
	case 3:
		more, replicas = " apart=host:app:"+name, min(replicas, 6)
		if f.IntN(3) == 0 {
			more, replicas = " apart=zone:app:"+name, 2
		}
	case 4:
		more = " near=zone:app:" + name
	}
	if strings.Contains(more, "spread=zone") {
		f.zoned[team]++
	}
	if f.IntN(8) == 0 {
		more += " affinity=zone:In:a,b"
	}
	if team == "red" {
		more += " tolerate=dedicated"
	}
	f.say("pod %s count=%d cpu=%s memory=%s select=team:%s labels=app:%s%s", name, replicas, cpu, memory, team, name, more)
}

// picture is the cluster now.
func (f *follow) picture() *snapshot.Snapshot {
	s := f.world.Snapshot
	s.Now, s.Nodes = f.now, slices.Clone(f.world.Nodes)
	s.Pending = slices.DeleteFunc(slices.Clone(f.world.Pending), func(p *snapshot.Pod) bool { return p.Spec.NodeName != "" })
	return &s
}

// plan launches what is missing, unless that is early.
func (f *follow) plan() {
	s := f.picture()
	answer := placement.Solve(s, placement.Options{Unexplained: true})
	f.world.Nominated = map[types.NamespacedName]string{}
	counts := func(p *snapshot.Pod, node string) {
		f.world.Nominated[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = node
	}
	for _, x := range answer.Placements {
		counts(x.Pod, x.Node.Name)
	}
	for i := range answer.NewNodes {
		node := f.launch(&answer.NewNodes[i])
		for _, p := range answer.NewNodes[i].Pods {
			counts(p, node.Name)
		}
	}
}

func (f *follow) launch(n *plan.NewNode) *snapshot.Node {
	name := fmt.Sprintf("n%03d", f.machines)
	f.machines++
	f.launched[n.Pool]++
	f.paid += n.Choice.Offering.Price
	f.say("node %s type=%s zone=%s pool=%s stage=appeared labels=team:%s", name, n.Choice.Type.Name, n.Choice.Offering.Zone, n.Pool, n.Pool)
	node, ready := f.world.Node(name), metav1.NewTime(f.now.Add(boot+f.lead+f.after()))
	node.Object.Spec.Taints = append(node.Object.Spec.Taints, f.world.Pool(n.Pool).Taints...)
	node.Object.Spec.Taints = append(node.Object.Spec.Taints, notReady)
	node.Object.CreationTimestamp = metav1.NewTime(ready.Add(-f.lead))
	node.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: ready}}
	node.Claim.UID = types.UID(name)
	node.Claim.Created = f.now
	node.Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: f.now}
	bare := ready.Time
	if f.agent > 0 {
		node.Object.Spec.Taints = append(node.Object.Spec.Taints, starting)
		node.Claim.StartupTaints = []corev1.Taint{starting}
		bare = bare.Add(f.agent + f.after())
	}
	f.arrivals = append(f.arrivals, arrival{ready: ready.Time, bare: bare, node: node, object: node.Object})
	node.Object = nil
	return node
}

// after is how much later than the first a Node becomes ready.
func (f *follow) after() time.Duration {
	if f.apart == 0 {
		return 0
	}
	return time.Duration(f.Int64N(int64(f.apart)))
}

// nominate writes nominations, one after the other.
func (f *follow) nominate() {
	f.writing = nomination.Decide(f.picture())
}

// write has the next nomination written. It is left out if the pod has changed since.
func (f *follow) write() {
	c := f.writing[0]
	f.writing = f.writing[1:]
	if c.Pod.Spec.NodeName != "" {
		return
	}
	f.wrote++
	moved := c.Pod.Status.NominatedNodeName != ""
	c.Apply(c.Pod.Pod)
	mark(c.Pod)
	if moved {
		f.scheduler.left(c.Pod)
	}
	if c.Admit != nil {
		f.scheduler.changed(c.Pod)
	}
}

// create has the pods come whose time it is; kube-scheduler has still to try them.
func (f *follow) create() {
	for len(f.coming) > 0 && !f.now.Before(f.coming[0].at) {
		f.say("%s", f.coming[0].pod)
		f.coming = f.coming[1:]
		p := f.world.Pending[len(f.world.Pending)-1]
		p.CreationTimestamp = metav1.NewTime(f.now)
		f.scheduler.queue = append(f.scheduler.queue, &queued{Pod: p})
	}
}

// join has the Nodes appear, and become ready, whose time has come.
func (f *follow) join() {
	for i := range f.arrivals {
		a := &f.arrivals[i]
		if !f.now.Before(a.ready.Add(-f.lead)) && a.node.Object == nil {
			a.node.Object = a.object
			f.scheduler.nodes = append(f.scheduler.nodes, a.node)
		}
		if !f.now.Before(a.ready) && a.object.Status.Conditions[0].Status == corev1.ConditionFalse {
			a.object.Status.Conditions[0].Status = corev1.ConditionTrue
			f.untaint(a, notReady)
		}
		if !f.now.Before(a.bare) {
			f.untaint(a, starting)
		}
	}
}

// untaint takes a taint off a Node.
func (f *follow) untaint(a *arrival, taint corev1.Taint) {
	left := slices.DeleteFunc(slices.Clone(a.object.Spec.Taints), func(t corev1.Taint) bool { return t == taint })
	if len(left) == len(a.object.Spec.Taints) {
		return
	}
	a.object.Spec.Taints = left
	a.object.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: f.now}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)}}
	if a.node.Registered() {
		f.scheduler.wake()
	}
}

// open has the Nodes registered that have been let go.
func (f *follow) open() {
	for i := range f.arrivals {
		a := &f.arrivals[i]
		if a.free.IsZero() || f.now.Before(a.free) || a.node.Registered() {
			continue
		}
		o := a.node.Object
		o.Spec.Taints = slices.DeleteFunc(o.Spec.Taints, func(t corev1.Taint) bool { return t.Key == snapshot.UnregisteredTaint })
		if s := f.picture(); f.world.Pool(a.node.Claim.Pool).Policy.Initialization.PlannedFirst && len(nomination.Awaited(s, a.node.Claim)) > 0 {
			o.Spec.Taints = append(o.Spec.Taints, nomination.PlannedTaint(a.node.Claim))
		}
		o.Labels[snapshot.RegisteredLabel] = "true"
		a.node.Claim.Conditions[snapshot.Registered] = snapshot.Condition{Status: corev1.ConditionTrue, Since: f.now}
		if !slices.Contains(o.Spec.Taints, notReady) {
			f.scheduler.wake()
		}
	}
}

// release lets Nodes go that need not be held.
func (f *follow) release() {
	f.arrivals = slices.DeleteFunc(f.arrivals, func(a arrival) bool { return a.node.Registered() && !f.now.Before(a.bare) })
	holds, at := nomination.Holds(f.picture(), "", nil), f.now
	slices.SortStableFunc(f.arrivals, func(a, b arrival) int {
		return cmp.Compare(holds[a.node.Claim.Name].Free, holds[b.node.Claim.Name].Free)
	})
	for i := range f.arrivals {
		a := &f.arrivals[i]
		if a.node.Object != nil && a.free.IsZero() && holds[a.node.Claim.Name].Until.IsZero() {
			a.free = at
			at = at.Add(perNode)
		}
	}
}

// admit opens the Nodes for all pods on which those are that were planned for them.
func (f *follow) admit() {
	s := f.picture()
	for _, n := range s.Nodes {
		planned := func(t corev1.Taint) bool { return t.Key == snapshot.PlannedTaint }
		if n.Object == nil {
			continue
		}
		if taints := n.Object.Spec.Taints; slices.ContainsFunc(taints, planned) && len(nomination.Awaited(s, n.Claim)) == 0 {
			n.Object.Spec.Taints = slices.DeleteFunc(taints, planned)
			f.opened++
			f.scheduler.wake()
		}
	}
}

// run goes on until all pods are bound.
func (f *follow) run() {
	for _, p := range f.world.Pending {
		p.CreationTimestamp = metav1.NewTime(noon)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(noon)}}
		f.scheduler.resting = append(f.scheduler.resting, &queued{Pod: p, tries: 1})
	}
	f.scheduler.resting = f.created(f.scheduler.resting)
	f.plan()
	f.planned, f.price = map[string]int{}, f.paid
	for pool, n := range f.launched {
		f.planned[pool] = n
	}
	if len(f.coming) == 0 {
		f.now = noon.Add(boot)
	}
	replan, look, renew := f.now.Add(2*time.Second), f.now, f.now
	for f.now.Before(noon.Add(20 * time.Minute)) {
		f.create()
		f.join()
		f.open()
		if !f.now.Before(look) {
			look = f.now.Add(poll)
			f.release()
		}
		if !f.now.Before(replan) {
			replan = f.now.Add(time.Second)
			f.admit()
			if f.plan(); len(f.picture().Pending)+len(f.coming) == 0 {
				return
			}
		}
		for len(f.writing) > 0 && !f.now.Before(renew) {
			f.write()
			renew = renew.Add(f.each)
		}
		if len(f.writing) == 0 && !f.now.Before(renew) {
			renew = f.now.Add(latency)
			f.nominate()
		}
		f.step()
	}
	f.t.Errorf("%d pods are not bound", len(f.picture().Pending))
}

// step has one pod tried, or time go by.
func (f *follow) step() {
	w := f.scheduler.next(f.now)
	if w == nil {
		f.now = f.now.Add(10 * time.Millisecond)
		return
	}
	f.now = f.now.Add(perPod)
	cleared := f.scheduler.cleared
	if f.scheduler.try(w, f.now); f.scheduler.cleared > cleared {
		f.now = f.now.Add(perWrite)
	}
}

// created are pods in the order in which the controllers create them: five workloads at
// a time, of each one pod, then two, four and so on.
func (f *follow) created(pods []*queued) []*queued {
	const workers = 5
	var sets [][]*queued
	for i, p := range pods {
		if i == 0 || p.Labels["app"] != pods[i-1].Labels["app"] {
			sets = append(sets, nil)
		}
		sets[len(sets)-1] = append(sets[len(sets)-1], p)
	}
	batch := make([]int, len(sets))
	var out []*queued
	for len(sets) > 0 {
		i := f.IntN(min(workers, len(sets)))
		batch[i] = min(max(1, 2*batch[i]), len(sets[i]))
		out = append(out, sets[i][:batch[i]]...)
		if sets[i] = sets[i][batch[i]:]; len(sets[i]) == 0 {
			sets, batch = slices.Delete(sets, i, i+1), slices.Delete(batch, i, i+1)
		}
	}
	return out
}
