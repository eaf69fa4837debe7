package interruption

import (
	"cmp"
	"slices"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Fate is what an action would do to a pod, in the words of the DisruptionRequest.
type Fate string

// The fates, those that hold the action back first.
const (
	// Protected: the pod must not be disrupted and is waited for.
	Protected Fate = "Protected"
	// Guarded: it is evicted once its PodDisruptionBudgets allow.
	Guarded Fate = "Guarded"
	// Moves: it is evicted.
	Moves Fate = "Moves"
	// Ends: it goes with the machine.
	Ends Fate = "Ends"
	// Restarts: it starts again with the machine.
	Restarts Fate = "Restarts"
)

// PodFate is the fate of a pod.
type PodFate struct {
	Namespace, Name string
	Fate            Fate
}

// fatesShown bounds how many pods a request lists.
const fatesShown = 50

// fates are what an action would do to the pods of a machine, and how many would
// have to move. Termination waits for no pod.
func fates(m *matter, budgets *eviction.Budgets) (movers int, out []PodFate) {
	waits := m.rule.Action != snapshot.InterruptionTerminate
	for _, p := range m.n.Pods {
		if !p.Active() {
			continue
		}
		kept := m.rule.Action == snapshot.InterruptionRestart && m.rule.KeepPods
		if eviction.Reschedulable(p.Pod) && !kept {
			movers++
		}
		f := PodFate{p.Namespace, p.Name, Moves}
		_, protected := eviction.Protected(p.Pod, m.s.Now)
		switch {
		case kept:
			f.Fate = Restarts
		case p.OfDaemonSet() || eviction.Mirror(p.Pod) || eviction.Stays(p.Pod):
			f.Fate = Ends
		case protected && waits && !m.rule.EvictDoNotDisrupt:
			f.Fate = Protected
		case waits && !m.rule.IgnoreBudgets && len(budgets.Blocking(p.Pod)) > 0:
			f.Fate = Guarded
		}
		out = append(out, f)
	}
	order := []Fate{Protected, Guarded, Moves, Ends, Restarts}
	slices.SortFunc(out, func(a, b PodFate) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Fate), slices.Index(order, b.Fate)),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
	return movers, out[:min(len(out), fatesShown)]
}
