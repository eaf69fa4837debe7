package settings

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Matter keeps those of some settings that decisions about a cluster may depend on. Of most
// clusters few do: no NodePool has minValues, and no pod prefers anything or claims devices.
func Matter(names []string, s *snapshot.Snapshot) []string {
	pods := func(has func(*snapshot.Pod) bool) bool {
		return slices.ContainsFunc(s.Pending, has) ||
			slices.ContainsFunc(s.Nodes, func(n *snapshot.Node) bool { return slices.ContainsFunc(n.Pods, has) })
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		switch name {
		case minValuesPolicy:
			return !slices.ContainsFunc(s.Pools, func(p *snapshot.Pool) bool { return p.Requirements.HasMinValues() })
		case preferencePolicy, preferenceCost:
			return !pods(prefers)
		case memoryOverhead, reservedENIs:
			return !slices.ContainsFunc(s.Pools, func(p *snapshot.Pool) bool { return p.Class.Group == provider.Group && p.Class.Kind == provider.Kind })
		case ignoreDRA:
			return !pods(func(p *snapshot.Pod) bool { return len(p.Spec.ResourceClaims) > 0 })
		case featureGates: // of which TerminateFirstDrift counts
			return !slices.ContainsFunc(s.Nodes, func(n *snapshot.Node) bool { return n.Claim != nil && n.Claim.Is(snapshot.Drifted) })
		}
		return false
	})
}

// Assumed says which settings are not known.
func Assumed(names []string) string {
	return "not known of the controller, so its defaults are assumed: --" + strings.Join(names, ", --")
}

// prefers reports whether a pod prefers something.
func prefers(p *snapshot.Pod) bool {
	soft := func(c corev1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == corev1.ScheduleAnyway }
	if slices.ContainsFunc(p.Class.Spread, soft) {
		return true
	}
	a := p.Spec.Affinity
	return a != nil && (a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAffinity != nil && len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}
