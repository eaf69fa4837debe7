package plan

import (
	"testing"
	"time"
)

func TestAFixNamesWhatHasToChange(t *testing.T) {
	pod, pdb := ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-0"}, ObjectRef{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "web"}
	second := pdb
	second.Name = "all"
	pool := []ObjectRef{{Kind: "NodePool", Name: "general"}}
	for _, row := range []struct {
		reason Reason
		want   string
	}{
		{Reason{Code: PDBBlocks, Objects: []ObjectRef{pod, pdb}}, "poddisruptionbudget/web -n shop: raise maxUnavailable or add a replica, so that it allows one disruption"},
		{
			Reason{Code: PDBBlocks, Objects: []ObjectRef{pod, pdb, second}},
			"let only one of poddisruptionbudget/web -n shop, poddisruptionbudget/all -n shop select pod/web-0 -n shop: the API evicts no pod that several guard",
		},
		{
			Reason{Code: BudgetExhausted, Objects: pool, Until: time.Unix(0, 0)},
			"nodepool/general: wait until the budget opens, or raise nodes in spec.disruption.budgets",
		},
		{
			Reason{Code: BudgetExhausted, Objects: pool, Total: 2},
			"nodepool/general: wait until fewer nodes are not ready or leaving, or raise nodes in spec.disruption.budgets",
		},
		{
			Reason{Code: BudgetExhausted, Objects: pool, Field: "spec.disruption.budgets of the NodePolicy"},
			"nodepool/general: raise nodes in spec.disruption.budgets of the NodePolicy; it allows none, and waiting alone does not change that",
		},
	} {
		if got := row.reason.Fix(); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}
