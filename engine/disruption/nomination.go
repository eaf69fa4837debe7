package disruption

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// planFor is where the pods without a machine of their own will go, those that are about to
// be created and chunks of buffers among them; nil if there are none.
func planFor(s *snapshot.Snapshot, opts placement.Options) *plan.Plan {
	if len(s.Pending) == 0 && len(s.Buffers) == 0 && !slices.ContainsFunc(s.Nodes, (*snapshot.Node).Deleting) {
		return nil
	}
	opts.Unexplained = true
	out := placement.Solve(s, opts)
	out.Placements, out.Expected = append(out.Placements, out.Expected...), nil
	return out
}

// nominations maps the name of each machine that a pod without a machine of its
// own counts on to the first such pod: where placement puts it, or where
// kube-scheduler says that it will run. A pod that kube-scheduler does not put
// there although it had the time holds the machine no longer, and is among the refused
// until that is noted.
func nominations(s *snapshot.Snapshot, planned *plan.Plan) (out map[string]*snapshot.Pod, refused []nomination.Refusal) {
	out = map[string]*snapshot.Pod{}
	if planned == nil {
		return out, nil
	}
	keep := func(p *snapshot.Pod, n *snapshot.Node) {
		if _, taken := out[n.Name]; !taken && p.Buffer == nil && !nomination.Refused(p, n, s.Now) {
			out[n.Name] = p
		}
	}
	for _, p := range planned.Placements {
		keep(p.Pod, p.Node)
	}
	for _, p := range s.Pending {
		if nomination.Foreign(p.Pod) {
			if n := s.Node(p.Status.NominatedNodeName); n != nil {
				keep(p, n)
			}
		}
	}
	return out, nomination.Refusals(s, planned.Placements)
}

// chunks maps the name of each machine that has room of buffers to the chunks there.
func chunks(planned *plan.Plan) map[string][]*snapshot.Pod {
	out := map[string][]*snapshot.Pod{}
	if planned == nil {
		return out
	}
	for _, at := range planned.Placements {
		if at.Pod.Buffer != nil {
			out[at.Node.Name] = append(out[at.Node.Name], at.Pod)
		}
	}
	return out
}

// agreed are the pods with a node on which a disagreement is still noted.
func agreed(s *snapshot.Snapshot) []*snapshot.Pod {
	var out []*snapshot.Pod
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			if _, noted := nomination.DisagreementOf(p); noted && p.Active() {
				out = append(out, p)
			}
		}
	}
	return out
}
