package termination

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/drain"
)

// answers are those of the API server to the evictions and deletions that were asked for last, by
// node and pod. They are asked for again all the time, so that they need not
// outlive the process. It is safe for concurrent use.
type answers struct{ byNode sync.Map }

// of are those of a node, not to be changed.
func (a *answers) of(node string) map[types.UID]drain.Answer {
	if is, ok := a.byNode.Load(node); ok {
		return is.(map[types.UID]drain.Answer)
	}
	return nil
}

// note takes what came of the pods of a node that were asked for, the zero Answer for those with
// which it was neither agreed to nor refused. It returns the causes of refusals that the node had none
// of before, in order.
func (a *answers) note(node string, latest map[types.UID]drain.Answer) (causes []string) {
	old := a.of(node)
	now := map[types.UID]drain.Answer{}
	maps.Copy(now, old)
	for pod, answer := range latest {
		if now[pod] = answer; answer.At.IsZero() {
			delete(now, pod)
		}
		if answer.Words != "" && !slices.ContainsFunc(slices.Collect(maps.Values(old)), func(o drain.Answer) bool { return o.Words == answer.Words }) {
			causes = append(causes, answer.Words)
		}
	}
	a.byNode.Store(node, now)
	slices.Sort(causes)
	return slices.Compact(causes)
}

// forget is for a node that is gone.
func (a *answers) forget(node string) { a.byNode.Delete(node) }
