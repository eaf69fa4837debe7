package disruption

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// nominations maps the name of each machine that a pod without a machine of its
// own counts on to the first such pod.
func nominations(s *snapshot.Snapshot, opts Options) map[string]*snapshot.Pod {
	out := map[string]*snapshot.Pod{}
	if len(s.Pending) == 0 && !slices.ContainsFunc(s.Nodes, (*snapshot.Node).Deleting) {
		return out
	}
	for _, p := range placement.Solve(s, opts.Placement).Placements {
		if _, taken := out[p.Node.Name]; !taken {
			out[p.Node.Name] = p.Pod
		}
	}
	return out
}
