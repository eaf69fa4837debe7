package cluster

import (
	"slices"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// waiting are the pods that have no node. Those are pending that their scheduler found no node for, or
// that were read from a file and never applied; and where a scheduler found no node for some, those that
// it has not tried yet: in a burst that takes it many seconds, and they are planned like all others.
type waiting struct {
	refused, untried *table[*snapshot.Pod]
	// schedulers counts the pods that a scheduler found no node for, by its name.
	schedulers map[string]int
}

func newWaiting() waiting {
	return waiting{refused: newTable[*snapshot.Pod](), untried: newTable[*snapshot.Pod](), schedulers: map[string]int{}}
}

func (w *waiting) put(key string, p *snapshot.Pod, refused bool) {
	if !refused {
		w.untried.put(key, p)
		return
	}
	w.refused.put(key, p)
	if unschedulable(p.Pod) {
		w.schedulers[p.Spec.SchedulerName]++
	}
}

func (w *waiting) drop(key string, p *snapshot.Pod) {
	w.untried.drop(key)
	if _, ok := w.refused.byKey[key]; ok && unschedulable(p.Pod) {
		w.schedulers[p.Spec.SchedulerName]--
	}
	w.refused.drop(key)
}

// find is a pending pod.
func (w *waiting) find(key string) (*snapshot.Pod, bool) {
	if p, ok := w.refused.byKey[key]; ok {
		return p, true
	}
	p, ok := w.untried.byKey[key]
	return p, ok && w.schedulers[p.Spec.SchedulerName] > 0
}

// list are the pending pods and those that are untried and not pending, by namespace and name;
// they must not be changed.
func (w *waiting) list() (pending, untried []*snapshot.Pod) {
	refused, all := w.refused.list(), w.untried.list()
	if len(refused) == 0 || len(all) == 0 {
		return refused, all
	}
	pending = slices.Clone(refused)
	for _, p := range all {
		if w.schedulers[p.Spec.SchedulerName] > 0 {
			pending = append(pending, p)
		} else {
			untried = append(untried, p)
		}
	}
	slices.SortFunc(pending, snapshot.ComparePods)
	return pending, untried
}
