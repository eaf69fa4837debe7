package repair_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Whatever is broken since when: only broken machines are touched, a budget and a
// breaker hold, and the same snapshot gives the same decision.
func TestBudgetsAndBreakersHoldInAnyCluster(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		budget, most := rapid.IntRange(0, 4).Draw(r, "budget"), rapid.IntRange(0, 8).Draw(r, "maxUnhealthy")
		policy := snapshot.Repair{
			On: true, Budget: fmt.Sprint(budget), MaxUnhealthy: fmt.Sprint(most), MinHealthy: rapid.IntRange(0, 5).Draw(r, "minHealthy"),
			Action:            rapid.SampledFrom([]snapshot.RepairAction{"", snapshot.RepairReplace, snapshot.RepairAlert, snapshot.RepairIgnore}).Draw(r, "action"),
			CorrelatedPercent: rapid.SampledFrom([]int{30, 50, 100}).Draw(r, "percent"),
			Conditions:        []snapshot.RepairCondition{{Type: "Net", Status: corev1.ConditionFalse, Toleration: 10 * time.Minute}},
		}
		s := &snapshot.Snapshot{Now: noon, Pools: []*snapshot.Pool{{Name: "p", Policy: snapshot.Policy{Repair: policy}}}}
		broken := map[string]bool{}
		under := 0
		for i := range rapid.IntRange(0, 12).Draw(r, "nodes") {
			n := machine(r, fmt.Sprint("n", i))
			s.Nodes = append(s.Nodes, n)
			broken[n.Name] = n.Object.Status.Conditions[1].Status == corev1.ConditionFalse
			if disruption.Requested(n.Claim).Cause != "" || broken[n.Name] && n.Deleting() {
				under++
			}
		}
		d := repair.Decide(s, repair.Options{})
		if again := repair.Decide(s, repair.Options{}); again.String() != d.String() {
			r.Fatalf("first\n%sthen\n%s", d, again)
		}
		begun, sick := 0, 0
		for _, b := range broken {
			if b {
				sick++
			}
		}
		for _, c := range d.Commands {
			if c.Do == repair.Withdraw {
				continue
			}
			asked := disruption.Requested(c.Node.Claim).Cause != ""
			switch {
			case !broken[c.Node.Name]:
				r.Fatalf("%s of %s, which is healthy", c.Do, c.Node.Name)
			case c.Do == repair.Bound:
				continue
			case c.Node.Deleting() || policy.Action == snapshot.RepairAlert || policy.Action == snapshot.RepairIgnore:
				r.Fatalf("%s of %s\n%s", c.Do, c.Node.Name, d)
			case sick > most:
				r.Fatalf("%s of %s although %d are unhealthy, %d may be", c.Do, c.Node.Name, sick, most)
			case !asked:
				begun++
			}
		}
		if begun > 0 && begun+under > budget {
			r.Fatalf("%d begin beside %d, the budget is %d\n%s", begun, under, budget, d)
		}
	})
}

func machine(r *rapid.T, name string) *snapshot.Node {
	since := metav1.NewTime(noon.Add(-time.Duration(rapid.IntRange(0, 20).Draw(r, name+" minutes")) * time.Minute))
	yes := corev1.ConditionTrue
	net := rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(r, name+" net")
	c := &snapshot.Claim{Name: name, Pool: "p", Annotations: map[string]string{}, Conditions: map[string]snapshot.Condition{snapshot.Initialized: {Status: yes}}}
	if rapid.IntRange(0, 3).Draw(r, name+" asked") == 0 {
		c.Annotations[disruption.RequestAnnotation] = disruption.Request{Cause: disruption.Unhealthy, At: since.Time}.String()
	}
	if rapid.IntRange(0, 5).Draw(r, name+" deleted") == 0 {
		c.Deleted = noon
	}
	return &snapshot.Node{Name: name, Claim: c, Object: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelTopologyZone: rapid.SampledFrom([]string{"a", "b"}).Draw(r, name+" zone"), snapshot.InitializedLabel: "true", snapshot.RegisteredLabel: "true",
		}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: yes}, {Type: "Net", Status: net, LastTransitionTime: since}}},
	}}
}
