package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A user scales a workload out and in by hand, as in the demo, again and again: what is
// empty goes each time as soon as consolidateAfter is over.
func TestEmptyMachinesGoInTheirOrdinaryTimeHoweverOftenOthersCameBack(t *testing.T) {
	for words, most := range map[string]time.Duration{
		"after=30s policy=WhenEmptyOrUnderutilized": 34 * time.Second,
		"after=30s policy=WhenEmpty":                34 * time.Second,
		"after=5s policy=Balanced":                  9 * time.Second,
	} {
		h := byHand(t, words)
		for range 6 {
			h.scale(6)
			h.after(time.Minute)
			h.scale(1)
			h.goneWithin(most)
		}
	}
}

// hand is a cluster in virtual time, a decision a second, whose machines hold one pod
// each and are there two seconds after they are needed.
type hand struct {
	*world
	pool *snapshot.Pool
	made int
}

func byHand(t *testing.T, words string) *hand {
	h := &hand{world: &world{t: t, s: &snapshot.Snapshot{Now: noon}}}
	h.pool = h.world.pool("p", append(strings.Fields(words), "sells=small:4:1"))
	h.s.Pools = []*snapshot.Pool{h.pool}
	return h
}

func (h *hand) scale(pods int) {
	free := slices.DeleteFunc(slices.Clone(h.s.Nodes), func(n *snapshot.Node) bool { return len(n.Pods) > 0 })
	for used := len(h.s.Nodes) - len(free); used < pods; used++ {
		if len(free) == 0 {
			free = append(free, h.launch())
		}
		h.run(free[0])
		free = free[1:]
	}
	for _, n := range h.s.Nodes[pods:] {
		n.Pods, n.Claim.LastPodEvent = nil, h.s.Now
	}
}

func (h *hand) launch() *snapshot.Node {
	h.made++
	n := h.node(fmt.Sprintf("m-%02d", h.made), []string{"pool=p", "type=small", "cpu=4"})
	n.Claim.Created = h.s.Now
	for _, c := range []string{snapshot.Launched, snapshot.Registered, snapshot.Initialized} {
		n.Claim.Conditions[c] = snapshot.Condition{Status: corev1.ConditionTrue, Since: h.s.Now.Add(2 * time.Second)}
	}
	h.s.Nodes = append(h.s.Nodes, n)
	return n
}

func (h *hand) run(n *snapshot.Node) {
	start := metav1.NewTime(h.s.Now.Add(2 * time.Second))
	h.made++
	p := podFor(fmt.Sprintf("web-%d", h.made), n.Name, 3)
	p.Status.StartTime = &start
	n.Pods, n.Claim.LastPodEvent = []*snapshot.Pod{h.classes.Pod(p)}, start.Time
}

// after decides every second and carries it out at once.
func (h *hand) after(d time.Duration) {
	for end := h.s.Now.Add(d); h.s.Now.Before(end); {
		h.s.Now = h.s.Now.Add(time.Second)
		for _, c := range Decide(h.s, Options{}).Commands {
			h.carryOut(c)
		}
	}
}

func (h *hand) carryOut(c Command) {
	for _, n := range c.Nodes {
		switch c.Step {
		case Mark:
			eviction.Mark(n.Object)
			h.annotate(n.Claim, CommandAnnotation, c.String())
			n.Claim.Conditions[snapshot.DisruptionReason] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: string(c.Cause), Since: h.s.Now}
		case Remove:
			if noted := Note(h.s, []Command{{Progress: c.Progress, Nodes: []*snapshot.Node{n}, Step: Remove}}, h.pool); noted != nil {
				h.pool.Moves = noted
			}
			h.s.Nodes = slices.DeleteFunc(slices.Clone(h.s.Nodes), func(m *snapshot.Node) bool { return m == n })
		}
	}
}

// goneWithin waits until only the machine of the pod that stays is there.
func (h *hand) goneWithin(most time.Duration) {
	h.t.Helper()
	h.after(most)
	if left, why := h.left(); left != 1 {
		h.t.Errorf("%s after the scale-in %d machines are there: %s", most, left, why)
	}
}

// left counts the machines, and says why the last of them stays.
func (h *hand) left() (machines int, why plan.Code) {
	d := Decide(h.s, Options{})
	return len(h.s.Nodes), d.Verdicts[len(h.s.Nodes)-1].Reason.Code
}
