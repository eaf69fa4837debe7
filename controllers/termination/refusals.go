package termination

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// refusals are the evictions that the API server refused when they were asked for last, in
// its words, by node and pod. They are asked for again all the time, so that they need not
// outlive the process. It is safe for concurrent use.
type refusals struct{ byNode sync.Map }

// of are those of a node, not to be changed.
func (r *refusals) of(node string) map[types.UID]string {
	if is, ok := r.byNode.Load(node); ok {
		return is.(map[types.UID]string)
	}
	return nil
}

// set replaces those of a node, and reports whether it had none before and has some now.
func (r *refusals) set(node string, now map[types.UID]string) (first bool) {
	if len(now) == 0 {
		r.byNode.Delete(node)
		return false
	}
	_, had := r.byNode.Swap(node, now)
	return !had
}
