package doctor

import (
	"fmt"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/doctor/pool"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/window"
)

// windowed reports whether nodes of a pool go in windows of a policy only.
func (in *Inventory) windowed(np *karpv1.NodePool) bool {
	p := in.rules(np, v1alpha1.SectionDisruption)
	return p != nil && len(p.Spec.Disruption.Windows) > 0
}

// policiesThatNeverOpen are those of which no window ever opens, or whose budget over all pools
// is nothing.
func policiesThatNeverOpen(in *Inventory) []Finding {
	var out []Finding
	for _, p := range in.Policies {
		d := p.Spec.Disruption
		if d == nil || d.Freeze != "" {
			continue // a freeze is meant
		}
		ref := plan.ObjectRef{Kind: "NodePolicy", Name: p.Name}
		if _, err := window.Opens(windowsOf(d.Windows), pool.FirstDay); len(d.Windows) > 0 && err != nil {
			out = append(out, Finding{
				Severity: Warning, Object: ref, Field: "spec.disruption.windows",
				Message: fmt.Sprintf("never open (%v): no node of the policy is consolidated, or replaced when it has drifted", err),
				Advice:  "give them a day that comes; a freeze says the same openly, with its reason",
				Patch:   &Patch{Object: ref, Steps: []Step{{Op: "remove", Path: "/spec/disruption/windows"}}},
			})
		}
		for i, b := range d.Budgets {
			if b.Nodes != "0" && b.Nodes != "0%" || len(b.Reasons) > 0 {
				continue
			}
			path := fmt.Sprintf("/spec/disruption/budgets/%d/nodes", i)
			out = append(out, Finding{
				Severity: Warning, Object: ref, Field: fmt.Sprintf("spec.disruption.budgets[%d].nodes", i),
				Message: fmt.Sprintf("is %s across the %s: no node of any NodePool is consolidated, or replaced when it has drifted", b.Nodes, strings.ToLower(b.Across)),
				Advice:  "allow some nodes; a freeze says the same openly, with its reason",
				Patch:   &Patch{Object: ref, Steps: []Step{step("test", path, b.Nodes), step("replace", path, "10%")}},
			})
		}
	}
	return out
}
