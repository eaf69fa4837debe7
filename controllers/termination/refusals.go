package termination

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/drain"
)

// refusals are the evictions and deletions that the API server refused when they were asked
// for last, by node and pod. They are asked for again all the time, so that they need not
// outlive the process. It is safe for concurrent use.
type refusals struct{ byNode sync.Map }

// of are those of a node, not to be changed.
func (r *refusals) of(node string) map[types.UID]drain.Refusal {
	if is, ok := r.byNode.Load(node); ok {
		return is.(map[types.UID]drain.Refusal)
	}
	return nil
}

// note takes what came of the pods of a node that were asked for, the zero Refusal for those
// that were not refused. It returns the causes that the node had none of before, in order.
func (r *refusals) note(node string, answers map[types.UID]drain.Refusal) (causes []string) {
	old := r.of(node)
	now := map[types.UID]drain.Refusal{}
	maps.Copy(now, old)
	for pod, a := range answers {
		if a.Words == "" {
			delete(now, pod)
			continue
		}
		now[pod] = a
		if !slices.ContainsFunc(slices.Collect(maps.Values(old)), func(o drain.Refusal) bool { return o.Words == a.Words }) {
			causes = append(causes, a.Words)
		}
	}
	r.byNode.Store(node, now)
	slices.Sort(causes)
	return slices.Compact(causes)
}

// forget is for a node that is gone.
func (r *refusals) forget(node string) { r.byNode.Delete(node) }
