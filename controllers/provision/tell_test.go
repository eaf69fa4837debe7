package provision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// What the log says of a plan adds up to the number of its pods, and what there is none of
// is left out.
func TestSumsInTheLogAddUp(t *testing.T) {
	pods := func(n int) []*snapshot.Pod { return make([]*snapshot.Pod, n) }
	at := func(n int, node *snapshot.Node) (out []plan.Placement) {
		for range n {
			out = append(out, plan.Placement{Node: node})
		}
		return out
	}
	claim := &snapshot.Claim{}
	taking := &corev1.Node{}
	taking.Labels = map[string]string{snapshot.RegisteredLabel: "true"}
	choice := catalog.Choice{Type: &catalog.Type{}, Offering: &catalog.Offering{Price: 0.25}}
	answer := &plan.Plan{
		NewNodes: []plan.NewNode{{Pods: pods(7), Choice: choice}, {Pods: pods(5), Choice: choice}},
		Unplaced: make([]plan.Unplaced, 3), Ignored: make([]plan.Unplaced, 2), Stats: plan.Stats{Pods: 75},
	}
	answer.Placements = append(answer.Placements, at(11, &snapshot.Node{Claim: claim, Object: taking})...)
	answer.Placements = append(answer.Placements, at(13, &snapshot.Node{Claim: claim, Object: &corev1.Node{}})...)
	answer.Placements = append(answer.Placements, at(17, &snapshot.Node{Claim: claim})...)
	answer.Placements = append(answer.Placements, at(19, &snapshot.Node{Object: &corev1.Node{}})...)
	got := count(answer, []*karpv1.NodeClaim{{}, nil})
	want := outcome{pods: 77, existing: 30, inFlight: 30, launching: 7, refused: 5, unplaced: 3, ignored: 2, nodeClaims: 1, price: 0.25}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if fields := (outcome{pods: 1, existing: 1}).fields(); len(fields) != 4 {
		t.Errorf("said: %v", fields)
	}
}
