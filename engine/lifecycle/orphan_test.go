package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestAMachineWithoutAClaimIsDrainedByWayOfTheNodesThatWereTakenOver(t *testing.T) {
	node := func(name string, finalizers ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}
	}
	own, other := node("own", "example.com/audit", lifecycle.Finalizer), node("other", "example.com/audit")
	for _, test := range []struct {
		nodes, deleted []*corev1.Node
		drained        bool
	}{
		{nil, nil, false},
		{[]*corev1.Node{other}, []*corev1.Node{other}, false},
		{[]*corev1.Node{own}, []*corev1.Node{own}, true},
		{[]*corev1.Node{other, own}, []*corev1.Node{own}, true},
	} {
		if deleted, drained := lifecycle.EndOrphan(test.nodes); !slices.Equal(deleted, test.deleted) || drained != test.drained {
			t.Errorf("of %d: %d are deleted, drained %t", len(test.nodes), len(deleted), drained)
		}
	}
}

func TestAMachineThatTheCloudEndsHasFailedUntilItsNodeRegisters(t *testing.T) {
	launched := map[string]snapshot.Condition{snapshot.Launched: {Status: corev1.ConditionTrue}}
	registered := map[string]snapshot.Condition{snapshot.Registered: {Status: corev1.ConditionTrue}}
	for _, test := range []struct {
		claim  snapshot.Claim
		failed bool
	}{
		{snapshot.Claim{Conditions: launched}, true},
		{snapshot.Claim{Conditions: launched, Deleted: time.Unix(1, 0)}, false},
		{snapshot.Claim{Conditions: registered}, false},
	} {
		if got := lifecycle.Ended(&test.claim); got.Failure() != test.failed {
			t.Errorf("%+v: %s", test.claim, got)
		}
	}
}

func TestWhatBecomesOfAClaimWhoseMachineIsNotListed(t *testing.T) {
	now := time.Unix(1000, 0)
	ready := []*corev1.Node{{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}}
	registered := map[string]snapshot.Condition{snapshot.Registered: {Status: corev1.ConditionTrue}}
	launched := func(ago time.Duration) map[string]snapshot.Condition {
		return map[string]snapshot.Condition{snapshot.Launched: {Status: corev1.ConditionTrue, Since: now.Add(-ago)}}
	}
	for _, test := range []struct {
		unlisted lifecycle.Unlisted
		want     lifecycle.Search
	}{
		{lifecycle.Unlisted{Claim: &snapshot.Claim{ProviderID: "p", Conditions: registered}}, lifecycle.AskForMachine},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{ProviderID: "p", Conditions: registered}, Nodes: ready}, ""},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{ProviderID: "p", Conditions: registered, Deleted: now}}, ""},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{ProviderID: "p", Conditions: launched(time.Minute)}}, ""},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{ProviderID: "p", Conditions: launched(2 * time.Minute)}}, lifecycle.AskForMachine},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{}}, ""},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{Conditions: registered}, Found: "p"}, lifecycle.RecallMachine},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{Conditions: registered}, Found: "p", Nodes: ready}, lifecycle.RecallMachine},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{Conditions: registered}, Nodes: ready}, ""},
		{lifecycle.Unlisted{Claim: &snapshot.Claim{Conditions: registered}}, lifecycle.GiveUpMachine},
	} {
		test.unlisted.Now = now
		if got := test.unlisted.Decide(); got != test.want {
			t.Errorf("%+v: %q", test.unlisted, got)
		}
	}
}
