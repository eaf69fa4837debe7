package demand

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/ports"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/plan"
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
	// Volumes is nil where no pod has any.
	Volumes *volumes.Book
	// storage is what the volumes of each shape ask for.
	storage map[*snapshot.Shape]volumes.Demand
	// disks are the writers' tokens of disks, by what tells disks apart.
	disks map[string]pack.Token
	// Company is nil where nobody minds who is near.
	Company *Company
	// made memoises what the rules made of each shape, same the shapes by key.
	made map[*snapshot.Shape]*Shape
	same map[string]*Shape
	// needs memoises what is asked by pods that run already.
	needs map[*snapshot.Class][]int64
	// soft are the lists of taints with a PreferNoSchedule among them, nil before
	// anybody asks.
	soft [][]corev1.Taint
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
func (g *Group) Key() string {
	key := make([]byte, 0, len(g.Shape.Key)+8*len(g.Need))
	key = append(key, g.Shape.Key...)
	for _, n := range g.Need {
		key = binary.AppendVarint(key, n)
	}
	return string(key)
}

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
	classes, members := classesOf(pods)
	b.readVolumes(classes, members)
	waiting := b.contenders(classes, members)
	b.Company = b.newCompany(classes)
	b.Dims = vector.New(b.resourceNames(classes))
	groups := gatherer{batch: b, byKey: make(map[groupKey]*Group, len(classes))}
	for i, c := range classes {
		groups.add(b.shapeOf(c.Shape), b.need(c), members[i], waiting)
	}
	if len(classes) > len(b.Groups) {
		for _, g := range b.Groups {
			slices.SortFunc(g.Pods, byRank)
		}
	}
	b.Order()
}

// gatherer finds the group of pods by what they are.
type gatherer struct {
	batch *Batch
	byKey map[groupKey]*Group
	need  []byte
}

// groupKey is equal for pods that are alike.
type groupKey struct {
	shape *Shape
	need  string
}

// add puts pods of one class into their group; those that have to wait for another
// pod's volume into one of their own.
func (x *gatherer) add(sh *Shape, need []int64, pods []*snapshot.Pod, waiting map[*snapshot.Pod]plan.Reason) {
	if len(waiting) > 0 {
		free := make([]*snapshot.Pod, 0, len(pods))
		for _, p := range pods {
			if why, waits := waiting[p]; waits {
				x.add(x.batch.refused(sh, why), need, []*snapshot.Pod{p}, nil)
			} else {
				free = append(free, p)
			}
		}
		if pods = free; len(pods) == 0 {
			return
		}
	}
	x.need = x.need[:0]
	for _, n := range need {
		x.need = binary.AppendVarint(x.need, n)
	}
	if g, ok := x.byKey[groupKey{sh, string(x.need)}]; ok {
		g.Pods = append(g.Pods, pods...)
		return
	}
	g := &Group{Shape: sh, Need: need, Bundle: 1, Pods: pods}
	x.byKey[groupKey{sh, string(x.need)}] = g
	x.batch.Groups = append(x.batch.Groups, g)
}

// byRank puts pods of a higher priority first, and then the first by name.
func byRank(a, b *snapshot.Pod) int {
	return cmp.Or(cmp.Compare(b.Class.Priority, a.Class.Priority), ComparePods(a, b))
}

// Order puts groups and shapes in an order that depends on what they are.
func (b *Batch) Order() {
	slices.SortFunc(b.Groups, func(x, y *Group) int {
		if x.Shape != y.Shape {
			if c := cmp.Compare(x.Shape.Key, y.Shape.Key); c != 0 {
				return c
			}
		}
		if c := slices.Compare(y.Need, x.Need); c != 0 {
			return c
		}
		return cmp.Compare(y.Bundle, x.Bundle)
	})
	b.Shapes = nil
	for _, g := range b.Groups {
		if len(b.Shapes) == 0 || b.Shapes[len(b.Shapes)-1] != g.Shape {
			b.Shapes = append(b.Shapes, g.Shape)
		}
	}
}

// classesOf lists the classes in the order of their first pods, and the pods of each.
func classesOf(pods []*snapshot.Pod) (list []*snapshot.Class, members [][]*snapshot.Pod) {
	index := map[*snapshot.Class]int32{}
	of := make([]int32, len(pods))
	var count []int
	for i, p := range pods {
		if i > 0 && p.Class == pods[i-1].Class {
			of[i] = of[i-1]
		} else if at, ok := index[p.Class]; ok {
			of[i] = at
		} else {
			of[i] = int32(len(list))
			index[p.Class] = of[i]
			list, count = append(list, p.Class), append(count, 0)
		}
		count[of[i]]++
	}
	members = make([][]*snapshot.Pod, len(list))
	room := make([]*snapshot.Pod, len(pods))
	for c, n := range count {
		members[c], room = room[:0:n], room[n:]
	}
	for i, p := range pods {
		members[of[i]] = append(members[of[i]], p)
	}
	return list, members
}

func (b *Batch) resourceNames(classes []*snapshot.Class) []corev1.ResourceName {
	usual := []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory}
	seen := map[corev1.ResourceName]bool{}
	for _, name := range usual {
		seen[name] = true
	}
	for _, c := range classes {
		others := len(c.Requests)
		for _, name := range usual {
			if _, ok := c.Requests[name]; ok {
				others--
			}
		}
		if others > 0 {
			for name, q := range c.Requests {
				if !q.IsZero() {
					seen[name] = true
				}
			}
		}
		b.shapeOf(c.Shape)
		b.ofVolumes(c.Shape, func(name corev1.ResourceName, _ int64) { seen[name] = true })
	}
	out := make([]corev1.ResourceName, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	return out
}

func (b *Batch) need(c *snapshot.Class) []int64 {
	need := b.Dims.Need(c.Requests)
	b.ofVolumes(c.Shape, func(name corev1.ResourceName, n int64) { need[b.Dims.Index[name]] = n })
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

// ComparePods orders pods by namespace and name.
func ComparePods(a, b *snapshot.Pod) int {
	if a.Namespace != b.Namespace {
		return strings.Compare(a.Namespace, b.Namespace)
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return cmp.Compare(a.UID, b.UID)
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

// NeedOf is what a pod of the batch asks, its volumes included.
func (b *Batch) NeedOf(p *snapshot.Pod) []int64 { return b.need(p.Class) }
