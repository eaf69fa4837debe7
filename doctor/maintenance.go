package doctor

import (
	"fmt"
	"slices"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/policy"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// maintenance is the kind of event by which a cloud announces work on a host.
const maintenance = "Maintenance"

// maintenanceAtOnce are the pools of databases that are drained as soon as the cloud announces
// maintenance, which it does weeks ahead.
func maintenanceAtOnce(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		i := slices.IndexFunc(in.Workloads, func(w Workload) bool {
			return len(w.Volumes) > 0 && in.admits(w.class, np) && meantFor(w.class, np)
		})
		if i < 0 {
			continue
		}
		p := in.rules(np, v1alpha1.SectionInterruption)
		if p != nil && slices.ContainsFunc(p.Spec.Interruption.Rules, func(r v1alpha1.InterruptionRule) bool {
			return slices.Contains(r.Events, v1alpha1.EventKind(maintenance))
		}) {
			continue
		}
		f := Finding{
			Severity: Warning, Object: poolRef(np), Field: "spec",
			Message: fmt.Sprintf("is for %s and has no rule for announced maintenance: its nodes are drained at once, weeks before the cloud does anything, at whatever time of the day", in.Workloads[i].Ref),
			Advice:  "say when such nodes may be drained, by a NodePolicy",
			Patch:   &Patch{Object: plan.ObjectRef{Kind: "NodePolicy", Name: np.Name + "-maintenance"}, Manifest: maintenancePolicy(np.Name)},
		}
		if p != nil {
			f.Object, f.Field = plan.ObjectRef{Kind: "NodePolicy", Name: p.Name}, "spec.interruption.rules"
			f.Patch = &Patch{Object: f.Object, Steps: []Step{step("add", "/spec/interruption/rules/-", maintenanceRule())}}
			if len(p.Spec.Interruption.Rules) == 0 {
				f.Patch.Steps = []Step{step("add", "/spec/interruption/rules", []any{maintenanceRule()})}
			}
			f.Message = fmt.Sprintf("have none for Maintenance, while nodepool/%s is for %s: its nodes are drained at once, weeks before the cloud does anything", np.Name, in.Workloads[i].Ref)
		}
		out = append(out, f)
	}
	return out
}

// meantFor reports whether pods of a class ask for the nodes of a pool, by a label that the pool
// gives them or by tolerating its taint.
func meantFor(c *snapshot.Class, np *karpv1.NodePool) bool {
	if len(np.Spec.Template.Spec.Taints) > 0 {
		return true
	}
	return slices.ContainsFunc(c.Terms, func(term requirement.Set) bool {
		for key := range np.Spec.Template.Labels {
			if _, asks := term.Lookup(key); asks {
				return true
			}
		}
		_, asks := term.Lookup(snapshot.PoolLabel)
		return asks
	})
}

// rules is the policy that is in force for a section of a pool, nil if there is none.
func (in *Inventory) rules(np *karpv1.NodePool, section v1alpha1.Section) *v1alpha1.NodePolicy {
	all := make([]policy.Policy, len(in.Policies))
	for i, p := range in.Policies {
		all[i] = cluster.PolicyOf(p)
	}
	for _, r := range policy.Resolve(all, []policy.Pool{{Name: np.Name, Labels: np.Labels}}) {
		if r.Section == string(section) {
			return in.Policies[slices.IndexFunc(in.Policies, func(p *v1alpha1.NodePolicy) bool { return p.Name == r.Policy })]
		}
	}
	return nil
}

// maintenanceRule begins in one of the nights of the last week, and two hours before the cloud
// acts at the latest.
func maintenanceRule() map[string]any {
	return map[string]any{
		"events": []any{maintenance}, "action": "Replace", "leadTime": "168h", "reserve": "2h", "doNotDisrupt": "Respect",
		"windows": []any{map[string]any{"schedule": "0 2 * * *", "duration": "2h", "timeZone": "UTC"}},
	}
}

func maintenancePolicy(pool string) string {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "NodePolicy", "metadata": map[string]any{"name": pool + "-maintenance"},
		"spec": map[string]any{
			"nodePools":    map[string]any{"names": []any{pool}},
			"interruption": map[string]any{"rules": []any{maintenanceRule()}},
		},
	})
	if err != nil {
		return "" // maps, lists and strings
	}
	return string(text)
}
