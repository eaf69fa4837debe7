package kwok

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud"
)

func TestMachinesOfABrokenImageNeverJoinUntilItIsMended(t *testing.T) {
	w := newWorld(t)
	w.set("neverJoin", "kwok-linux-amd64")
	instance := w.launch("a")
	w.advance(time.Hour)
	if instance.ImageID != "kwok-linux-amd64" || w.node("a") != nil || w.state(instance.ProviderID) != cloud.Running {
		t.Fatalf("image %s, node %v, state %s", instance.ImageID, w.node("a"), w.state(instance.ProviderID))
	}
	w.set("neverJoin", "kwok-linux-arm64 b-*")
	w.advance(time.Second)
	if w.node("a") == nil {
		t.Error("it does not join")
	}
}

func TestAMachineJoinsUnderANameThatIsUsedAgainOnceItIsFree(t *testing.T) {
	w := newWorld(t)
	w.set("joinAs", "web-*=ip-1")
	first := w.launch("web-1")
	w.advance(5 * time.Second)
	second := w.launch("web-2")
	if _, err := w.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(5 * time.Second)
	_, _ = w.Step(t.Context()) // it says that the name is taken
	if node := w.node("ip-1"); node == nil || node.Spec.ProviderID != first.ProviderID || node.Labels["kubernetes.io/hostname"] != "ip-1" {
		t.Fatalf("the first machine's node is %v", node)
	}
	if err := w.Terminate(t.Context(), first.ProviderID); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		w.clock.Step(time.Second)
		_, _ = w.Step(t.Context())
	}
	if node := w.node("ip-1"); node == nil || node.Spec.ProviderID != second.ProviderID {
		t.Errorf("the second machine's node is %v", node)
	}
}
