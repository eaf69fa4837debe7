package placement

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/ports"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// world is one snapshot, compiled: everything that Solve looks at more than
// once.
type world struct {
	s     *snapshot.Snapshot
	opts  Options
	dims  *dims
	ports ports.Table
	// shapes and groups are in an order that depends on what they are, not on
	// what they are called.
	shapes []*shape
	groups []*group
	// daemons are the DaemonSets of the cluster.
	daemons  []*daemon
	machines *machines
	market   *market
	company  *company
	// classes is the number of groups before they are divided, divided how many
	// pods of each were.
	classes int
	divided map[string]int
	// names are the machines by the names of their Nodes and claims, once asked for.
	names map[string]int
	// bought are the launches of the new machines.
	bought []int
	// made memoises what the rules made of each shape, same the shapes by key.
	made map[*snapshot.Shape]*shape
	same map[string]*shape
	// needs memoises what is asked by pods that run already.
	needs map[*snapshot.Class][]int64
}

// group is a number of pods that are alike: one shape, one need.
type group struct {
	shape *shape
	need  []int64
	// pods are those that are still to be placed, by namespace and name.
	pods []*snapshot.Pod
	// bundle is how many pods have to be together, and what need is the sum of.
	bundle int
	// origin is the group that this one was divided from, nil if none. vain is how
	// many of its pods were left.
	origin *group
	vain   int
}

// key is equal for groups that are alike.
func (g *group) key() string { return fmt.Sprint(g.shape.key, g.need) }

// units is how many needs there are left to satisfy.
func (g *group) units() int { return len(g.pods) / g.bundle }

// take removes the pods of n units from the group.
func (g *group) take(n int) []*snapshot.Pod {
	n *= g.bundle
	out := g.pods[:n:n]
	g.pods = g.pods[n:]
	return out
}

// gather makes groups of the pods. pods are by namespace and name.
func (w *world) gather(pods []*snapshot.Pod) {
	classes, byClass := classesOf(pods)
	w.company = w.newCompany(classes)
	for _, d := range w.s.DaemonSets {
		w.daemons = append(w.daemons, newDaemon(w, d))
	}
	w.dims = newDims(w.resourceNames(classes))
	byKey := map[string]*group{}
	var key []byte
	for _, c := range classes {
		sh := w.shapeOf(c.Shape)
		need := w.need(c, sh)
		key = append(key[:0], sh.key...)
		for _, n := range need {
			key = binary.AppendVarint(key, n)
		}
		g, ok := byKey[string(key)]
		if !ok {
			g = &group{shape: sh, need: need, bundle: 1}
			byKey[string(key)] = g
			w.groups = append(w.groups, g)
		}
		g.pods = append(g.pods, byClass[c]...)
	}
	if len(classes) > len(w.groups) {
		for _, g := range w.groups {
			slices.SortFunc(g.pods, comparePods)
		}
	}
	w.order()
}

// order puts groups and shapes in an order that depends on what they are.
func (w *world) order() {
	slices.SortFunc(w.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.shape.key, b.shape.key), slices.Compare(b.need, a.need), cmp.Compare(b.bundle, a.bundle))
	})
	w.shapes = nil
	for _, g := range w.groups {
		if len(w.shapes) == 0 || w.shapes[len(w.shapes)-1] != g.shape {
			w.shapes = append(w.shapes, g.shape)
		}
	}
}

// classesOf lists the classes in the order of their first pods.
func classesOf(pods []*snapshot.Pod) ([]*snapshot.Class, map[*snapshot.Class][]*snapshot.Pod) {
	var list []*snapshot.Class
	of := make(map[*snapshot.Class][]*snapshot.Pod, 64)
	for _, p := range pods {
		same, ok := of[p.Class]
		if !ok {
			list = append(list, p.Class)
		}
		of[p.Class] = append(same, p)
	}
	return list, of
}

// attachPrefix marks the dimensions that count volumes.
const attachPrefix = "volumes of "

func (w *world) resourceNames(classes []*snapshot.Class) []corev1.ResourceName {
	seen := map[corev1.ResourceName]bool{corev1.ResourcePods: true}
	for _, c := range classes {
		for name, q := range c.Requests {
			if !seen[name] && !q.IsZero() {
				seen[name] = true
			}
		}
		for driver := range w.shapeOf(c.Shape).attach {
			seen[corev1.ResourceName(attachPrefix+driver)] = true
		}
	}
	out := make([]corev1.ResourceName, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	return out
}

func (w *world) need(c *snapshot.Class, sh *shape) []int64 {
	need := w.dims.need(c.Requests)
	for driver, n := range sh.attach {
		need[w.dims.index[corev1.ResourceName(attachPrefix+driver)]] = n
	}
	return need
}

// classNeed is what the pods of a class ask of the dimensions that matter.
func (w *world) classNeed(c *snapshot.Class) []int64 {
	need, ok := w.needs[c]
	if !ok {
		need = w.dims.need(c.Requests)
		w.needs[c] = need
	}
	return need
}

func attachDriver(name corev1.ResourceName) (string, bool) {
	return strings.CutPrefix(string(name), attachPrefix)
}

// shapeOf runs the rules over a shape, once.
func (w *world) shapeOf(from *snapshot.Shape) *shape {
	if known, ok := w.made[from]; ok {
		return known
	}
	sh := &shape{}
	for _, r := range rules {
		r.add(w, from, sh)
	}
	sh.identify(&w.ports)
	if same, ok := w.same[sh.key]; ok {
		sh = same
	}
	w.made[from], w.same[sh.key] = sh, sh
	return sh
}
