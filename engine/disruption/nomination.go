package disruption

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// planFor is where the pods without a machine of their own will go, those that are about to
// be created and chunks of buffers among them.
func planFor(s *snapshot.Snapshot, opts placement.Options) *plan.Plan {
	if len(s.Pending) == 0 && len(s.Buffers) == 0 && !slices.ContainsFunc(s.Nodes, (*snapshot.Node).Deleting) {
		return &plan.Plan{}
	}
	opts.Unexplained = true
	out := placement.Solve(s, opts)
	out.Placements, out.Expected = append(out.Placements, out.Expected...), nil
	return out
}

// withUntried counts pods that kube-scheduler has not come to yet as pending: in a burst they are
// many, and the room on the machines is theirs. One that it leaves alone for longer than a lease is
// another scheduler's.
func withUntried(s *snapshot.Snapshot) *snapshot.Snapshot {
	recent := slices.DeleteFunc(slices.Clone(s.Untried), func(p *snapshot.Pod) bool { return !s.Now.Before(p.CreationTimestamp.Add(nomination.Lease)) })
	if len(recent) == 0 {
		return s
	}
	out := *s
	out.Pending = slices.SortedFunc(slices.Values(slices.Concat(s.Pending, recent)), snapshot.ComparePods)
	return &out
}

// nominations maps the name of each machine that a pod without a machine of its own counts on to
// the first such pod: where placement puts it, or where kube-scheduler says that it will run. A
// pod that kube-scheduler does not put there although it had the time holds the machine no
// longer. Chunks are those of buffers that have room on a machine.
func nominations(s *snapshot.Snapshot, planned *plan.Plan) (nominated map[string]*snapshot.Pod, chunks map[string][]*snapshot.Pod) {
	nominated, chunks = map[string]*snapshot.Pod{}, map[string][]*snapshot.Pod{}
	keep := func(p *snapshot.Pod, n *snapshot.Node) {
		if _, taken := nominated[n.Name]; !taken && !nomination.Refused(p, n, s.Now) {
			nominated[n.Name] = p
		}
	}
	for _, at := range planned.Placements {
		if at.Pod.Buffer != nil {
			chunks[at.Node.Name] = append(chunks[at.Node.Name], at.Pod)
		} else {
			keep(at.Pod, at.Node)
		}
	}
	for _, p := range s.Pending {
		if nomination.Foreign(p.Pod) {
			if n := s.Node(p.Status.NominatedNodeName); n != nil {
				keep(p, n)
			}
		}
	}
	return nominated, chunks
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
