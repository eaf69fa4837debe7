package lifecycle_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var (
	interleavings = flag.Int("interleavings", 6_250, "how many interleavings to try")
	firstSeed     = flag.Uint64("seed", 1, "the seed of the first interleaving; the others count up from it")
)

// TestNoInterleavingWedgesTheLifecycle lets a kubelet, its agents, the cloud
// controller and third parties act in any order between the reads and writes of a
// controller that works from what it read, loses races and crashes between its
// writes. Whatever the order:
//
//   - Initialized is never decided on a Node that is not ready for work;
//   - the claim's conditions never go back;
//   - a taint that somebody removed never comes back by our hand;
//   - once nothing happens any more, the claim is initialized or given up within a
//     few steps.
func TestNoInterleavingWedgesTheLifecycle(t *testing.T) {
	t.Logf("seeds %d to %d", *firstSeed, *firstSeed+uint64(*interleavings)-1)
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // much garbage, little of it at a time
	var reached reach
	for i := range uint64(*interleavings) {
		m := newModel(*firstSeed + i)
		if fault := m.run(); fault != "" {
			t.Fatalf("-seed=%d: %s\nwhat happened: %v\n%s", *firstSeed+i, fault, m.story, lifecycle.Decide(m.view()))
		}
		reached.count(m)
	}
	t.Logf("%+v", reached)
	if *interleavings >= 1000 && (reached.Initialized == 0 || reached.GivenUp == 0 || reached.Conflicts == 0 || reached.Crashes == 0 || reached.Rejoined == 0 || reached.Early == 0) {
		t.Errorf("the interleavings do not cover what they should: %+v", reached)
	}
}

// reach counts what the interleavings came to, so that a model that has become
// tame is noticed.
type reach struct{ Initialized, GivenUp, Conflicts, Crashes, Rejoined, Early int }

func (r *reach) count(m *model) {
	if m.claim.Is(snapshot.Initialized) {
		r.Initialized++
	} else {
		r.GivenUp++
	}
	r.Conflicts, r.Crashes, r.Rejoined, r.Early = r.Conflicts+m.conflicts, r.Crashes+m.crashes, r.Rejoined+m.rejoined, r.Early+m.early
}

// model is one machine, everybody who works on it, and a controller.
type model struct {
	*rand.Rand
	now    time.Time
	claim  *snapshot.Claim
	policy snapshot.Initialization
	// node is replaced, never changed, so that what was read stays as it was.
	node                                *corev1.Node
	twin                                *corev1.Node // a second Node of the same machine
	version                             int
	csi                                 bool
	daemon                              *snapshot.DaemonSet
	ready                               bool // the DaemonSet's pod
	removed                             map[string]bool
	deleted                             lifecycle.DeleteReason
	read                                *reading
	story                               []string
	todo                                []act
	conflicts, crashes, rejoined, early int
}

// reading is what the controller has read and means to do about it.
type reading struct {
	step    lifecycle.Step
	version int
}

// act is something that somebody does, once.
type act struct {
	name string
	// after says what must have happened; empty is nothing.
	after string
	// do is nil for what the controller does.
	do func(m *model)
}

var (
	gpu    = corev1.ResourceName("example.com/gpu")
	cni    = corev1.Taint{Key: "cni", Effect: corev1.TaintEffectNoExecute}
	gate   = corev1.Taint{Key: "readiness.k8s.io/net", Effect: corev1.TaintEffectNoSchedule}
	ours   = corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}
	start  = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	driver = "csi.example.com"
	agent  = &snapshot.DaemonSet{
		DaemonSet: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent", Labels: map[string]string{"app": "agent"}}},
		Pod:       new(snapshot.Classes).Pod(&corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}}),
	}
	agentClass = new(snapshot.Classes).Pod(&corev1.Pod{}).Class
	one        = corev1.ResourceList{gpu: resource.MustParse("1")}
	machine    = &catalog.Type{Name: "m", Capacity: one, Offerings: []catalog.Offering{{Zone: "a", CapacityType: "spot", Available: true}}}
)

func newModel(seed uint64) *model {
	m := &model{Rand: rand.New(rand.NewPCG(seed, 0)), now: start, removed: map[string]bool{}, daemon: agent}
	m.claim = &snapshot.Claim{
		Name: "c", UID: "uid-c", Created: start, Requests: one,
		StartupTaints: []corev1.Taint{cni}, Taints: []corev1.Taint{ours},
		Conditions: map[string]snapshot.Condition{},
	}
	m.policy = snapshot.Initialization{
		CSIDrivers: []string{driver},
		DaemonSets: []snapshot.DaemonSetSelector{{Labels: labels.SelectorFromSet(labels.Set{"app": "agent"})}},
		OnStale:    snapshot.StaleRemove, StaleGrace: 2 * time.Minute,
		Timeout: snapshot.Never,
	}
	if m.IntN(4) == 0 {
		m.policy.OnStale = snapshot.StaleReplace
	}
	if m.IntN(3) == 0 {
		m.policy.Timeout, m.policy.OnTimeout = 20*time.Minute, []snapshot.Consequence{snapshot.Replace, snapshot.Retain, snapshot.Alert}[m.IntN(3)]
	}
	m.todo = m.acts()
	return m
}

// acts are what happens to the machine besides the controller.
func (m *model) acts() []act {
	list := []act{
		{"launch", "", nil},
		{"join", "launch", (*model).join},
		{"ready", "join", func(m *model) { m.kubelet(corev1.ConditionTrue) }},
		{"gpu", "join", func(m *model) { m.change(func(n *corev1.Node) { n.Status.Allocatable = one }) }},
		{"untaint", "join", func(m *model) { m.untaint(cni) }},
		{"cloud", "join", func(m *model) {
			m.change(func(n *corev1.Node) {
				n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
				n.Labels[corev1.LabelTopologyZone] = "a"
			})
		}},
		{"csi", "join", func(m *model) { m.csi = true }},
		{"agent", "join", func(m *model) { m.ready = true }},
	}
	if m.IntN(4) > 0 { // otherwise the cloud controller leaves its taint behind
		list = append(list, act{"initialize", "cloud", func(m *model) { m.untaint(lifecycle.Uninitialized) }})
	}
	more := []act{
		{"reboot", "ready", func(m *model) {
			m.kubelet(corev1.ConditionFalse)
			m.todo = append(m.todo, act{"ready again", "", func(m *model) { m.kubelet(corev1.ConditionTrue) }})
		}},
		{"retaint", "untaint", func(m *model) {
			m.taint(cni)
			m.todo = append(m.todo, act{"untaint again", "", func(m *model) { m.untaint(cni) }})
		}},
		{"gate", "join", func(m *model) {
			m.taint(gate)
			m.todo = append(m.todo, act{"ungate", "", func(m *model) { m.untaint(gate) }})
		}},
		{"undedicate", "join", func(m *model) { m.untaint(ours) }},
		{"twin", "join", func(m *model) {
			m.twin = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "twin"}}
			m.version++
			m.todo = append(m.todo, act{"twin gone", "", func(m *model) { m.twin = nil; m.version++ }})
		}},
		{"rejoin", "join", (*model).rejoin},
		{"time", "", func(m *model) { m.now = m.now.Add(time.Duration(m.IntN(1500)) * time.Second) }},
	}
	for _, a := range more {
		if m.IntN(3) == 0 {
			list = append(list, a)
		}
	}
	return list
}

func (m *model) join() {
	m.node = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(m.now), Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{ProviderID: "p", Taints: []corev1.Taint{lifecycle.Unregistered, lifecycle.Uninitialized, ours, cni}},
	}
	clear(m.removed)
	m.version++
}

// rejoin is a kubelet that makes its Node anew; whatever works on Nodes does its
// work again.
func (m *model) rejoin() {
	m.rejoined++
	m.join()
	m.kubelet(corev1.ConditionTrue)
	m.change(func(n *corev1.Node) { n.Status.Allocatable = one })
	again := func(t corev1.Taint) act { return act{"rejoined " + t.Key, "", func(m *model) { m.untaint(t) }} }
	m.todo = append(m.todo, again(cni), again(lifecycle.Uninitialized))
}

// change replaces the Node by a changed copy.
func (m *model) change(f func(n *corev1.Node)) {
	n := *m.node
	n.Labels, n.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
	n.Finalizers, n.OwnerReferences = slices.Clone(n.Finalizers), slices.Clone(n.OwnerReferences)
	n.Spec.Taints, n.Status.Conditions = slices.Clone(n.Spec.Taints), slices.Clone(n.Status.Conditions)
	f(&n)
	m.node = &n
	m.version++
}

func (m *model) kubelet(ready corev1.ConditionStatus) {
	m.change(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastTransitionTime: metav1.NewTime(m.now)}}
	})
}

func (m *model) taint(t corev1.Taint) {
	delete(m.removed, t.Key)
	m.change(func(n *corev1.Node) {
		if !slices.ContainsFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	})
}

func (m *model) untaint(t corev1.Taint) {
	m.removed[t.Key] = true
	m.change(func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
	})
}

func (m *model) view() lifecycle.View {
	v := lifecycle.View{Now: m.now, Claim: m.claim, Policy: m.policy, DaemonSets: []*snapshot.DaemonSet{m.daemon}}
	if m.claim.ProviderID == "" { // whatever has joined, nobody knows that it is this claim's
		v.Types = []*catalog.Type{machine}
		return v
	}
	if m.node != nil {
		v.Nodes = append(v.Nodes, m.node)
	}
	if m.twin != nil {
		v.Nodes = append(v.Nodes, m.twin)
	}
	if m.csi {
		v.CSINode = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver}}}}
	}
	if m.ready {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent-x", OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent"}}}}
		pod.Spec.NodeName = "n"
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		v.Pods = []*snapshot.Pod{{Pod: pod, Class: agentClass}}
	}
	return v
}

// run plays everything out; the result says what is wrong, empty if nothing is.
func (m *model) run() string {
	for len(m.todo) > 0 && m.deleted == "" {
		if m.IntN(2) == 0 {
			m.others()
			continue
		}
		if fault := m.controller(); fault != "" {
			return fault
		}
	}
	for range 40 {
		if m.deleted != "" || m.claim.Is(snapshot.Initialized) && m.node.Labels[lifecycle.InitializedLabel] == "true" {
			return ""
		}
		if m.read == nil {
			if wake := lifecycle.Decide(m.view()).Wake; m.now.Before(wake) {
				m.now = wake
			}
		}
		if fault := m.controller(); fault != "" {
			return fault
		}
	}
	return "nothing happens any more, and the machine is neither initialized nor given up"
}

// others do one of the things that are still to be done and can be.
func (m *model) others() {
	var can []int
	for i, a := range m.todo {
		if a.do != nil && (a.after == "" || !slices.ContainsFunc(m.todo, func(b act) bool { return b.name == a.after })) {
			can = append(can, i)
		}
	}
	if len(can) == 0 {
		return
	}
	i := can[m.IntN(len(can))]
	a := m.todo[i]
	m.todo = slices.Delete(m.todo, i, i+1)
	m.story = append(m.story, a.name)
	a.do(m)
}

// controller reads, or writes what it decided on when it read.
func (m *model) controller() string {
	if m.read == nil {
		v := m.view()
		step := lifecycle.Decide(v)
		m.read = &reading{step, m.version}
		if decides(step, snapshot.Initialized) && !works(v) {
			return "initialized although the Node is not ready for work"
		}
		return ""
	}
	r := m.read
	m.read = nil
	if r.step.Delete != "" {
		m.deleted = r.step.Delete
		m.story = append(m.story, "given up: "+string(m.deleted))
		return ""
	}
	if r.step.Launch != nil {
		m.launch()
		return ""
	}
	if r.step.Node != nil {
		if r.version != m.version {
			m.conflicts++
			m.story = append(m.story, "conflict")
			return ""
		}
		if fault := m.write(r.step.Node); fault != "" {
			return fault
		}
		if m.IntN(8) == 0 {
			m.crashes++
			m.story = append(m.story, "crash")
			return ""
		}
	}
	return m.conditions(r.step)
}

// launch starts the machine, once however often it is asked for. The answer may get
// lost, so that the machine joins before its claim knows of it.
func (m *model) launch() {
	m.story = append(m.story, "launch")
	m.todo = slices.DeleteFunc(m.todo, func(a act) bool { return a.name == "launch" })
	if m.IntN(3) == 0 {
		m.crashes++
		m.story = append(m.story, "crash")
		return
	}
	claim := *m.claim
	claim.ProviderID, claim.Conditions = "p", maps.Clone(claim.Conditions)
	claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: m.now}
	m.claim = &claim
	if m.node != nil {
		m.early++
	}
}

// write changes the Node, as one request does.
func (m *model) write(c *lifecycle.NodeChange) string {
	m.story = append(m.story, "write")
	m.change(c.Apply)
	for _, t := range m.node.Spec.Taints {
		if m.removed[t.Key] {
			return fmt.Sprintf("the taint %s, which somebody had removed, is back", t.Key)
		}
	}
	return ""
}

func (m *model) conditions(step lifecycle.Step) string {
	for _, c := range step.Conditions {
		old := m.claim.Conditions[c.Type]
		if old.Status == corev1.ConditionTrue && c.Status != corev1.ConditionTrue {
			return fmt.Sprintf("condition %s goes back to %s", c.Type, c.Status)
		}
		since := old.Since
		if old.Status != c.Status {
			since = m.now
		}
		claim := *m.claim
		claim.Conditions = maps.Clone(claim.Conditions)
		claim.Conditions[c.Type] = snapshot.Condition{Status: c.Status, Reason: c.Reason, Message: c.Message, Since: since}
		m.claim = &claim
	}
	return ""
}

func decides(step lifecycle.Step, condition string) bool {
	return slices.ContainsFunc(step.Conditions, func(c plan.Condition) bool { return c.Type == condition && c.Status == corev1.ConditionTrue })
}

// works says by a rule of its own whether a Node is ready for work.
func works(v lifecycle.View) bool {
	if len(v.Nodes) != 1 || v.CSINode == nil || len(v.Pods) == 0 {
		return false
	}
	n := v.Nodes[0]
	for _, t := range n.Spec.Taints {
		if t.Key != ours.Key && t.Key != lifecycle.NotInitialized.Key {
			return false
		}
	}
	return snapshot.Ready(n) && len(n.Status.Allocatable) == 1 && n.Labels[lifecycle.RegisteredLabel] == "true"
}
