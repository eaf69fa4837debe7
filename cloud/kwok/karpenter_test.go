package kwok

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
)

// A Node that Karpenter's KWOK provider has made, whether it is Ready or not, is a machine
// until it is deleted. A Node made by hand is none.
func TestMachinesThatKarpenterHasLaunchedAreThereAsLongAsTheirNodes(t *testing.T) {
	w := newWorld(t)
	for name, labels := range map[string]map[string]string{
		"kwok-a-1": {kwokLabel: kwokFake, "karpenter.sh/nodepool": "pool", corev1.LabelHostname: "a"},
		"by-hand":  {kwokLabel: kwokFake},
	} {
		n := &corev1.Node{}
		n.Name, n.Labels, n.Spec.ProviderID = name, labels, providerScheme+name
		if err := w.client.Create(w.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	w.setReady("kwok-a-1", corev1.ConditionUnknown)
	w.launch("b")
	w.advance(longestPause)
	list, err := w.List(w.Context())
	if err != nil || len(list) != 2 || list[0].Claim != "b" || list[1].ProviderID != "kwok://kwok-a-1" || !list[1].LaunchedFor("a", "uid") {
		t.Errorf("there are %+v, error %v", list, err)
	}
	if now, hand := w.state("kwok://kwok-a-1"), w.state("kwok://by-hand"); now != cloud.Running || hand != gone {
		t.Errorf("Karpenter's machine is %s, the Node made by hand %s", now, hand)
	}
	if err := w.Terminate(w.Context(), "kwok://kwok-a-1"); err != nil {
		t.Error(err)
	}
	if now := w.state("kwok://kwok-a-1"); now != gone || w.node("kwok-a-1") != nil {
		t.Errorf("after its end, Karpenter's machine is %s", now)
	}
	for _, id := range []string{"kwok://kwok-a-1", "kwok://by-hand"} {
		if err := w.Terminate(w.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("ending %s: %v", id, err)
		}
	}
	if w.node("by-hand") == nil {
		t.Error("the Node made by hand is gone")
	}
}
