package disruption

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var interleavings = flag.Int("interleavings", 300, "how many seeded runs of the simulation")

// A small cluster is run in virtual time: decisions are carried out write by
// write, and between any two writes pods come, go, and become protected,
// kube-scheduler binds what it decided before it saw a taint, replacements come up
// or fail, and the controller is cut off. At every instant: no machine is removed
// with a protected pod or one that nobody planned for, no pool exceeds its budget,
// every machine has one verdict, and no replaced machine goes before its
// replacements are initialized.
func TestNothingThatComesBetweenIsOverlooked(t *testing.T) {
	removed := map[Cause]int{}
	for seed := range uint64(*interleavings) {
		s := newSimulation(t, seed)
		s.removed = removed
		for range 14 {
			s.tick()
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, s.log)
		}
	}
	for _, c := range []Cause{Empty, Drifted, Underutilized} {
		if removed[c] < *interleavings/20 {
			t.Errorf("only %d machines were removed because they were %s: too few to show anything", removed[c], c)
		}
	}
	t.Logf("removed: %v", removed)
}

type simulation struct {
	t       *testing.T
	dice    *rand.Rand
	now     time.Time
	pool    *snapshot.Pool
	nodes   map[string]*snapshot.Node
	pods    map[string]*corev1.Pod
	tainted map[string]time.Time
	budget  int
	made    int
	classes snapshot.Classes
	removed map[Cause]int
	log     string
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	s := &simulation{
		t: t, dice: rand.New(rand.NewPCG(seed, 6)), now: noon,
		nodes: map[string]*snapshot.Node{}, pods: map[string]*corev1.Pod{}, tainted: map[string]time.Time{},
	}
	w := &world{t: t}
	s.pool = w.pool("p", []string{"policy=WhenEmptyOrUnderutilized", "after=0s", "sells=small:4:1,large:8:2", "hash=2"})
	s.budget = 1 + s.dice.IntN(2)
	s.pool.Disruption.Budgets = []snapshot.Budget{{Nodes: fmt.Sprint(s.budget)}}
	for _, name := range []string{"a", "b", "c", "d"} {
		kind := []string{"type=small cpu=4", "type=large cpu=8"}[s.dice.IntN(2)]
		words := append([]string{"pool=p"}, strings.Fields(kind)...)
		words = append(words, "hash="+fmt.Sprint(1+s.dice.IntN(2)))
		s.nodes[name] = w.node(name, words)
		for range s.dice.IntN(3) {
			s.bind(name)
		}
	}
	return s
}

func (s *simulation) note(format string, args ...any) {
	s.log += s.now.Format("15:04:05 ") + fmt.Sprintf(format, args...) + "\n"
}

// snapshot is the cluster now.
func (s *simulation) snapshot() *snapshot.Snapshot {
	out := &snapshot.Snapshot{Now: s.now, Pools: []*snapshot.Pool{s.pool}}
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		out.Nodes = append(out.Nodes, s.live(name))
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		if p := s.pods[name]; p.Spec.NodeName == "" {
			out.Pending = append(out.Pending, s.classes.Pod(p.DeepCopy()))
		}
	}
	return out
}

// live is one machine now.
func (s *simulation) live(name string) *snapshot.Node {
	n := *s.nodes[name]
	claim := *n.Claim
	claim.Annotations, claim.Conditions = maps.Clone(claim.Annotations), maps.Clone(claim.Conditions)
	n.Claim = &claim
	if n.Object != nil {
		n.Object = n.Object.DeepCopy()
	}
	n.Pods = nil
	for _, pod := range slices.Sorted(maps.Keys(s.pods)) {
		if p := s.pods[pod]; p.Spec.NodeName == name {
			n.Pods = append(n.Pods, s.classes.Pod(p.DeepCopy()))
		}
	}
	return &n
}

// tick decides and carries out, with events between any two writes.
func (s *simulation) tick() {
	s.now = s.now.Add(time.Duration(500+s.dice.IntN(2000)) * time.Millisecond)
	s.events()
	world := s.snapshot()
	d := Decide(world, Options{})
	s.judged(world, d)
	for _, r := range d.Rollbacks {
		s.rollBack(r)
	}
	for _, c := range d.Commands {
		if s.dice.IntN(12) == 0 {
			s.note("the controller is cut off")
			return
		}
		s.carryOut(d, c)
		s.within()
	}
}

// judged checks that every machine has one verdict that says something, those that are
// older than five minutes as well as the young ones, and that it does not contradict the
// commands.
func (s *simulation) judged(world *snapshot.Snapshot, d *Decision) {
	commands := map[string]int{}
	for _, c := range d.Commands {
		for _, n := range c.Nodes {
			commands[n.Name]++
		}
	}
	verdicts := map[string][]Verdict{}
	for _, v := range d.Verdicts {
		verdicts[v.Node.Name] = append(verdicts[v.Node.Name], v)
	}
	for _, n := range world.Nodes {
		of := verdicts[n.Name]
		if len(of) != 1 || of[0].Reason.Code == "" || of[0].Reason.Message() == "" {
			s.t.Errorf("%s, %s old, has the verdicts %+v", n.Name, s.now.Sub(n.Claim.Created), of)
			continue
		}
		if commands[n.Name] > 1 || commands[n.Name] == 1 && !of[0].Disrupting {
			s.t.Errorf("%s is in %d commands and its verdict is %s", n.Name, commands[n.Name], of[0].Reason.Code)
		}
	}
	if len(verdicts) != len(world.Nodes) {
		s.t.Errorf("%d machines have verdicts, there are %d", len(verdicts), len(world.Nodes))
	}
}

func (s *simulation) carryOut(d *Decision, c Command) {
	switch c.Step {
	case Mark:
		for _, n := range c.Nodes {
			s.mark(n.Name, c.Progress)
		}
	case Launch:
		p := c.Progress
		p.Replaced = true
		for i, n := range c.Launch {
			name := c.ReplacementName("p", i)
			if s.nodes[name] == nil {
				w := &world{t: s.t}
				cpu := map[string]string{"small": "cpu=4", "large": "cpu=8"}[n.Choice.Type.Name]
				fresh := w.node(name, []string{"pool=p", "type=" + n.Choice.Type.Name, cpu, "hash=2", "replaces=" + c.ID, "coming"})
				fresh.Claim.Name = name
				s.nodes[name] = fresh
			}
			p.Replacements = append(p.Replacements, name)
			s.events()
		}
		for _, n := range c.Nodes {
			s.annotate(n.Name, p)
		}
		s.note("%s: launch %v", c.ID, p.Replacements)
	case Remove:
		s.remove(d, c)
	}
}

func (s *simulation) mark(name string, p Progress) {
	n := s.nodes[name]
	if n == nil || n.Deleting() {
		return
	}
	if !tainted(n) {
		n.Object.Spec.Taints = append(n.Object.Spec.Taints, eviction.DisruptedTaint)
		s.tainted[name] = s.now
	}
	s.events()
	if s.dice.IntN(8) == 0 {
		return // cut off between the taint and the claim
	}
	s.annotate(name, p)
	if c := n.Claim.Conditions[snapshot.DisruptionReason]; c.Reason != string(p.Cause) {
		n.Claim.Conditions[snapshot.DisruptionReason] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: string(p.Cause), Since: s.now}
	}
	s.note("%s: mark %s %s", p.ID, name, p.Cause)
}

func (s *simulation) annotate(name string, p Progress) {
	if n := s.nodes[name]; n != nil {
		if n.Claim.Annotations == nil {
			n.Claim.Annotations = map[string]string{}
		}
		n.Claim.Annotations[CommandAnnotation] = p.String()
	}
}

func (s *simulation) rollBack(r Rollback) {
	n := s.nodes[r.Node.Name]
	if n == nil || n.Deleting() {
		return
	}
	s.note("roll back %s: %s", n.Name, r.Reason.Message())
	for _, gone := range r.Discard {
		delete(s.nodes, gone.Name)
	}
	delete(n.Claim.Annotations, CommandAnnotation)
	delete(n.Claim.Conditions, snapshot.DisruptionReason)
	eviction.Unmark(n.Object)
	if r.Failures > 0 {
		n.Claim.Annotations[FailureAnnotation] = Failure{r.Failures, s.now, r.Template}.String()
	}
}

// remove looks once more and deletes.
func (s *simulation) remove(d *Decision, c Command) {
	s.events()
	for _, n := range c.Nodes {
		if s.nodes[n.Name] == nil {
			return
		}
		if reason, stays := d.Still(c, s.live(n.Name)); stays {
			s.note("%s: %s stays: %s", c.ID, n.Name, reason.Message())
			for _, m := range c.Nodes {
				s.rollBack(Rollback{Node: m, Reason: reason})
			}
			return
		}
	}
	for _, name := range c.Replacements {
		if fresh := s.nodes[name]; fresh == nil || !fresh.Claim.Is(snapshot.Initialized) {
			s.t.Errorf("%s: removal although replacement %s is not there", c.ID, name)
		}
	}
	planned := map[string]bool{}
	for _, n := range c.Nodes {
		for _, p := range n.Pods {
			planned[p.Name] = true
		}
	}
	for _, n := range c.Nodes {
		for _, p := range s.live(n.Name).Pods {
			if _, protected := eviction.Protected(p.Pod, s.now); protected || !planned[p.Name] {
				s.t.Errorf("%s: %s is removed with %s on it, protected %t", c.ID, n.Name, p.Name, protected)
			}
		}
		s.nodes[n.Name].Claim.Deleted = s.now
		s.note("%s: remove %s", c.ID, n.Name)
		s.removed[c.Cause]++
	}
}
