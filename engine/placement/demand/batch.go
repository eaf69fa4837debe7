package demand

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/ports"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Batch is the pods to place, compiled: what Solve looks at more than once. It is
// not safe for concurrent use.
type Batch struct {
	Snap  *snapshot.Snapshot
	Dims  *vector.Dims
	Ports ports.Table
	// Shapes and groups are in an order that depends on what they are, not on
	// what they are called.
	Shapes []*Shape
	Groups []*Group
	// Company is nil where nobody minds who is near.
	Company *Company
	// made memoises what the rules made of each shape, same the shapes by key.
	made map[*snapshot.Shape]*Shape
	same map[string]*Shape
	// needs memoises what is asked by pods that run already.
	needs map[*snapshot.Class][]int64
}

// New makes groups of the pods, which are by namespace and name.
func New(s *snapshot.Snapshot, pods []*snapshot.Pod) *Batch {
	b := &Batch{Snap: s, made: map[*snapshot.Shape]*Shape{}, same: map[string]*Shape{}, needs: map[*snapshot.Class][]int64{}}
	b.gather(pods)
	return b
}

// Group is a number of pods that are alike: one shape, one need.
type Group struct {
	Shape *Shape
	Need  []int64
	// Pods are those that are still to be placed, by namespace and name.
	Pods []*snapshot.Pod
	// Bundle is how many pods have to be together, and what need is the sum of.
	Bundle int
	// Origin is the group that this one was divided from, nil if none. vain is how
	// many of its pods were left.
	Origin *Group
	Vain   int
}

// Key is equal for groups that are alike.
func (g *Group) Key() string { return fmt.Sprint(g.Shape.Key, g.Need) }

// Units is how many needs there are left to satisfy.
func (g *Group) Units() int { return len(g.Pods) / g.Bundle }

// Take removes the pods of n units from the group.
func (g *Group) Take(n int) []*snapshot.Pod {
	n *= g.Bundle
	out := g.Pods[:n:n]
	g.Pods = g.Pods[n:]
	return out
}

// gather makes groups of the pods. pods are by namespace and name.
func (b *Batch) gather(pods []*snapshot.Pod) {
	classes, byClass := classesOf(pods)
	b.Company = b.newCompany(classes)
	b.Dims = vector.New(b.resourceNames(classes))
	byKey := map[string]*Group{}
	var key []byte
	for _, c := range classes {
		sh := b.shapeOf(c.Shape)
		need := b.need(c, sh)
		key = append(key[:0], sh.Key...)
		for _, n := range need {
			key = binary.AppendVarint(key, n)
		}
		g, ok := byKey[string(key)]
		if !ok {
			g = &Group{Shape: sh, Need: need, Bundle: 1}
			byKey[string(key)] = g
			b.Groups = append(b.Groups, g)
		}
		g.Pods = append(g.Pods, byClass[c]...)
	}
	if len(classes) > len(b.Groups) {
		for _, g := range b.Groups {
			slices.SortFunc(g.Pods, ComparePods)
		}
	}
	b.Order()
}

// Order puts groups and shapes in an order that depends on what they are.
func (b *Batch) Order() {
	slices.SortFunc(b.Groups, func(x, y *Group) int {
		return cmp.Or(cmp.Compare(x.Shape.Key, y.Shape.Key), slices.Compare(y.Need, x.Need), cmp.Compare(y.Bundle, x.Bundle))
	})
	b.Shapes = nil
	for _, g := range b.Groups {
		if len(b.Shapes) == 0 || b.Shapes[len(b.Shapes)-1] != g.Shape {
			b.Shapes = append(b.Shapes, g.Shape)
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

func (b *Batch) resourceNames(classes []*snapshot.Class) []corev1.ResourceName {
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

func (b *Batch) need(c *snapshot.Class, sh *Shape) []int64 {
	need := b.Dims.Need(c.Requests)
	for driver, n := range sh.attach {
		need[b.Dims.Index[corev1.ResourceName(attachPrefix+driver)]] = n
	}
	return need
}

// ClassNeed is what the pods of a class ask of the dimensions that matter.
func (b *Batch) ClassNeed(c *snapshot.Class) []int64 {
	need, ok := b.needs[c]
	if !ok {
		need = b.Dims.Need(c.Requests)
		b.needs[c] = need
	}
	return need
}

func AttachDriver(name corev1.ResourceName) (string, bool) {
	return strings.CutPrefix(string(name), attachPrefix)
}

// shapeOf runs the rules over a shape, once.
func (b *Batch) shapeOf(from *snapshot.Shape) *Shape {
	if known, ok := b.made[from]; ok {
		return known
	}
	sh := &Shape{}
	for _, r := range rules {
		r.add(b, from, sh)
	}
	sh.identify(&b.Ports)
	if same, ok := b.same[sh.Key]; ok {
		sh = same
	}
	b.made[from], b.same[sh.Key] = sh, sh
	return sh
}

// SetClashes finds out which ports keep each shape away, once every port is
// known.
func (b *Batch) SetClashes() {
	for _, sh := range b.Shapes {
		sh.Clashes = b.Ports.Clashes(sh.ports)
	}
}

func ComparePods(a, b *snapshot.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// Intern finds the shape that is treated like this one.
func (b *Batch) Intern(sh *Shape) *Shape {
	sh.identify(&b.Ports)
	if same, ok := b.same[sh.Key]; ok {
		return same
	}
	b.same[sh.Key] = sh
	return sh
}
