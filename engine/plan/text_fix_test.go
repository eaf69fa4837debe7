package plan

import "testing"

func TestAFixNamesWhatHasToChange(t *testing.T) {
	pod, pdb := ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-0"}, ObjectRef{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "web"}
	second := pdb
	second.Name = "all"
	pool := []ObjectRef{{Kind: "NodePool", Name: "general"}}
	for _, row := range []struct {
		reason Reason
		want   string
	}{
		{Reason{Code: PDBBlocks, Objects: []ObjectRef{pod, pdb}}, "shop/PodDisruptionBudget/web: raise maxUnavailable or add a replica, so that it allows one disruption"},
		{
			Reason{Code: PDBBlocks, Objects: []ObjectRef{pod, pdb, second}},
			"let only one of shop/PodDisruptionBudget/web, shop/PodDisruptionBudget/all select shop/Pod/web-0: the API evicts no pod that several guard",
		},
		{
			Reason{Code: BudgetExhausted, Objects: pool},
			"NodePool/general: wait until the budget opens, or raise nodes in spec.disruption.budgets; nodes that are not ready use it up",
		},
		{
			Reason{Code: BudgetExhausted, Objects: pool, Field: "spec.disruption.budgets of the NodePolicy"},
			"NodePool/general: wait until the budget opens, or raise nodes in spec.disruption.budgets of the NodePolicy; nodes that are not ready use it up",
		},
	} {
		if got := row.reason.Fix(); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}
