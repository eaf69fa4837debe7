package disruption

import (
	"strings"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/plan"
)

func TestTheVerdictIsOnTheClaim(t *testing.T) {
	claim, node := machine("a")
	guarded := guardedOn("a")
	r := rig(t, pool(nil), claim, node, guarded)
	d := New(r.Deps, disruption.Options{})
	verdict := func() string {
		r.Get(claim)
		c := claim.StatusConditions().Get(disruption.Disruptable)
		if c == nil {
			return ""
		}
		return string(c.Status) + " " + c.Reason
	}
	pass(t, r, d)
	if got := verdict(); got != "False DoNotDisrupt" {
		t.Errorf("with a protected pod: %q", got)
	}
	writes := r.API.Writes
	pass(t, r, d)
	if r.API.Writes != writes {
		t.Errorf("%d writes although nothing has changed", r.API.Writes-writes)
	}
	r.Delete(guarded)
	pass(t, r, d)
	if got := verdict(); got != "True Empty" {
		t.Errorf("without it: %q", got)
	}
}

func TestAClaimThatOthersDeleteDoesNotSayThatItsMachineStays(t *testing.T) {
	claim, node := machine("a")
	guarded := guardedOn("a")
	r := rig(t, pool(nil), claim, node, guarded)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Must(r.Client.Delete(ctx, claim))
	pass(t, r, d)
	r.Get(claim)
	if c := claim.StatusConditions().Get(disruption.Disruptable); c.Reason != string(plan.BeingDeleted) {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
	writes := r.API.Writes
	pass(t, r, d)
	if r.API.Writes != writes {
		t.Errorf("%d writes although nothing has changed", r.API.Writes-writes)
	}
}

func TestTheVerdictNamesNoPodThatHasGone(t *testing.T) {
	claim, node := machine("a")
	first, second := podOn("a", "first"), podOn("a", "second")
	r := rig(t, pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
	}), claim, node, first, second)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Delete(first)
	pass(t, r, d)
	r.Get(claim)
	if c := claim.StatusConditions().Get(disruption.Disruptable); c.Reason != "HasPods" || strings.Contains(c.Message, "first") || !strings.Contains(c.Message, "second") {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
	writes := r.API.Writes
	r.Must(r.Client.Create(ctx, podOn("a", "third")))
	pass(t, r, d)
	if r.API.Writes != writes {
		t.Error("one that has come is worth a write")
	}
}

func TestTheVerdictNamesNoSettingThatHasChanged(t *testing.T) {
	claim, node := machine("a")
	np := pool(func(np *karpv1.NodePool) { np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}} })
	r := rig(t, np, claim, node)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Get(np)
	np.Spec.Disruption.Budgets[0].Nodes = "0%"
	r.Must(r.Client.Update(ctx, np))
	pass(t, r, d)
	r.Get(claim)
	if c := claim.StatusConditions().Get(disruption.Disruptable); c.Reason != "BudgetExhausted" || !strings.Contains(c.Message, `nodes: "0%"`) {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}

func TestThatAMachineDoesNotPayToReplaceIsAnEventOnceAQuarterOfAnHour(t *testing.T) {
	claim, node := machine("a")
	r := rig(t, pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized
	}), claim, node, podOn("a", "web"))
	d := New(r.Deps, disruption.Options{})
	for range 3 {
		pass(t, r, d)
		r.Clock.Step(5 * time.Minute)
	}
	if n := len(r.Events.List); n != 2 || !published(r, "Node/a Unconsolidatable: the price of its instance type is not known") {
		t.Errorf("%d events: %q", n, r.Events.List)
	}
}
