package nomination

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/topology"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A pod is filtered as if all others that are nominated to the node ran there. Of
// pods that a required spread counts, so many of them at once could look like too
// many, and kube-scheduler would refuse every one. They are nominated in turn:
// over hosts as many as the spread allows there, over other domains, in which
// other nodes have pods too, one.

// TakesTurns reports whether a pod is nominated in turn with others like it: when it waits
// no longer, another one's turn has come. byDefault are the spreads that may hold for one that
// states none.
func TakesTurns(p *corev1.Pod, byDefault []corev1.TopologySpreadConstraint) bool {
	if own := p.Spec.TopologySpreadConstraints; len(own) > 0 {
		return slices.ContainsFunc(own, required)
	}
	return slices.ContainsFunc(byDefault, required)
}

func required(c corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.DoNotSchedule
}

// spread is a required spread on a node: how many more of the pods that it selects may be
// nominated there.
type spread struct {
	*topology.Rule
	room int
}

// inTurn are those of the pods planned for a node that may be nominated to it at the
// same time: first the ones that are, then by the share that they take of it.
func inTurn(pods []*snapshot.Pod, n *snapshot.Node, m *memo) []*snapshot.Pod {
	spreads := spreadsOf(pods, n, m)
	if len(spreads) == 0 {
		return pods
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *snapshot.Pod) int {
		return cmp.Or(
			cmp.Compare(there(b, n), there(a, n)), cmp.Compare(m.share(b, n), m.share(a, n)),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	return slices.DeleteFunc(pods, func(p *snapshot.Pod) bool { return !take(spreads, p) })
}

func there(p *snapshot.Pod, n *snapshot.Node) int {
	if p.Status.NominatedNodeName == n.Name {
		return 1
	}
	return 0
}

// take uses up room for a pod in every spread that counts it, if all have some.
func take(spreads []*spread, p *snapshot.Pod) bool {
	var counting []*spread
	for _, s := range spreads {
		if !s.Selects(p.Class.Shape) {
			continue
		}
		if s.room == 0 {
			return false
		}
		counting = append(counting, s)
	}
	for _, s := range counting {
		s.room--
	}
	return true
}

// spreadsOf are the required spreads of pods planned for a node, each once, with the
// room that they leave.
func spreadsOf(pods []*snapshot.Pod, n *snapshot.Node, m *memo) []*spread {
	var out []*spread
	seen := map[string]bool{}
	for _, p := range pods {
		for _, r := range m.rulesOf(p.Class) {
			if r.Kind == topology.Spread && !seen[r.ID] {
				seen[r.ID] = true
				out = append(out, &spread{r, room(r, n)})
			}
		}
	}
	return out
}

// room is for how many nominations of pods a spread leaves room on a node.
func room(r *topology.Rule, n *snapshot.Node) int {
	if !r.PerNode() {
		return 1
	}
	room := r.MaxSkew
	for _, p := range n.Pods {
		if r.Selects(p.Class.Shape) {
			room--
		}
	}
	return max(room, 1)
}
