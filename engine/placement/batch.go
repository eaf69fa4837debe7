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

// batch is the pods to place, compiled: what Solve looks at more than once. It is
// not safe for concurrent use.
type batch struct {
	snap  *snapshot.Snapshot
	dims  *dims
	ports ports.Table
	// shapes and groups are in an order that depends on what they are, not on
	// what they are called.
	shapes []*shape
	groups []*group
	// company is nil where nobody minds who is near.
	company *company
	// made memoises what the rules made of each shape, same the shapes by key.
	made map[*snapshot.Shape]*shape
	same map[string]*shape
	// needs memoises what is asked by pods that run already.
	needs map[*snapshot.Class][]int64
}

// newBatch makes groups of the pods, which are by namespace and name.
func newBatch(s *snapshot.Snapshot, pods []*snapshot.Pod) *batch {
	b := &batch{snap: s, made: map[*snapshot.Shape]*shape{}, same: map[string]*shape{}, needs: map[*snapshot.Class][]int64{}}
	b.gather(pods)
	return b
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
func (b *batch) gather(pods []*snapshot.Pod) {
	classes, byClass := classesOf(pods)
	b.company = b.newCompany(classes)
	b.dims = newDims(b.resourceNames(classes))
	byKey := map[string]*group{}
	var key []byte
	for _, c := range classes {
		sh := b.shapeOf(c.Shape)
		need := b.need(c, sh)
		key = append(key[:0], sh.key...)
		for _, n := range need {
			key = binary.AppendVarint(key, n)
		}
		g, ok := byKey[string(key)]
		if !ok {
			g = &group{shape: sh, need: need, bundle: 1}
			byKey[string(key)] = g
			b.groups = append(b.groups, g)
		}
		g.pods = append(g.pods, byClass[c]...)
	}
	if len(classes) > len(b.groups) {
		for _, g := range b.groups {
			slices.SortFunc(g.pods, comparePods)
		}
	}
	b.order()
}

// order puts groups and shapes in an order that depends on what they are.
func (b *batch) order() {
	slices.SortFunc(b.groups, func(x, y *group) int {
		return cmp.Or(cmp.Compare(x.shape.key, y.shape.key), slices.Compare(y.need, x.need), cmp.Compare(y.bundle, x.bundle))
	})
	b.shapes = nil
	for _, g := range b.groups {
		if len(b.shapes) == 0 || b.shapes[len(b.shapes)-1] != g.shape {
			b.shapes = append(b.shapes, g.shape)
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

func (b *batch) resourceNames(classes []*snapshot.Class) []corev1.ResourceName {
	seen := map[corev1.ResourceName]bool{corev1.ResourcePods: true}
	for _, c := range classes {
		for name, q := range c.Requests {
			if !seen[name] && !q.IsZero() {
				seen[name] = true
			}
		}
		for driver := range b.shapeOf(c.Shape).attach {
			seen[corev1.ResourceName(attachPrefix+driver)] = true
		}
	}
	out := make([]corev1.ResourceName, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	return out
}

func (b *batch) need(c *snapshot.Class, sh *shape) []int64 {
	need := b.dims.need(c.Requests)
	for driver, n := range sh.attach {
		need[b.dims.index[corev1.ResourceName(attachPrefix+driver)]] = n
	}
	return need
}

// classNeed is what the pods of a class ask of the dimensions that matter.
func (b *batch) classNeed(c *snapshot.Class) []int64 {
	need, ok := b.needs[c]
	if !ok {
		need = b.dims.need(c.Requests)
		b.needs[c] = need
	}
	return need
}

func attachDriver(name corev1.ResourceName) (string, bool) {
	return strings.CutPrefix(string(name), attachPrefix)
}

// shapeOf runs the rules over a shape, once.
func (b *batch) shapeOf(from *snapshot.Shape) *shape {
	if known, ok := b.made[from]; ok {
		return known
	}
	sh := &shape{}
	for _, r := range rules {
		r.add(b, from, sh)
	}
	sh.identify(&b.ports)
	if same, ok := b.same[sh.key]; ok {
		sh = same
	}
	b.made[from], b.same[sh.key] = sh, sh
	return sh
}

// setClashes finds out which ports keep each shape away, once every port is
// known.
func (b *batch) setClashes() {
	for _, sh := range b.shapes {
		sh.clashes = b.ports.Clashes(sh.ports)
	}
}
