package demand

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Batch is the pods to place, compiled: what Solve looks at more than once. It is
// not safe for concurrent use.
type Batch struct {
	Snap *snapshot.Snapshot
	Dims *vector.Dims
	// Groups are in an order that depends on what they are, not on what they are called.
	Groups []*Group
	// Volumes is nil where no pod has any.
	Volumes *volumes.Book
	// storage is what the volumes of each shape ask for.
	storage    map[*snapshot.Shape]volumes.Demand
	exclusives exclusives
	// PodTopology is nil where no pod has an inter-pod constraint.
	PodTopology *PodTopology
	// made memoises what the rules made of each shape, same the shapes by key.
	made map[*snapshot.Shape]*Shape
	same map[string]*Shape
	// soft are the lists of taints with a PreferNoSchedule among them, nil before
	// they are asked for.
	soft [][]corev1.Taint
}

// New makes groups of the pods, which are by namespace and name.
func New(s *snapshot.Snapshot, pods []*snapshot.Pod) *Batch {
	b := &Batch{Snap: s, exclusives: exclusives{}, made: map[*snapshot.Shape]*Shape{}, same: map[string]*Shape{}}
	classes, members := classesOf(pods)
	b.readVolumes(classes, members)
	waiting := contenders(b.Volumes, classes, members)
	// Rules and tokens are numbered in this order, and groups sorted by the numbers.
	shapes := shapesOf(classes)
	b.PodTopology = b.newPodTopology(classes, shapes)
	for _, sh := range shapes {
		b.shapeOf(sh)
	}
	b.Dims = vector.New(append(b.others(classes), corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory))
	for i, c := range classes {
		b.addGroups(b.shapeOf(c.Shape), b.NeedOf(c), members[i], waiting)
	}
	Sort(b.Groups)
	b.join()
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
	// Members are what one unit has where its pods could as well be divided otherwise, among
	// several units; else nil.
	Members []Member
	// Origin is the group that this one was divided from, nil if none.
	Origin *Group
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

// Apart are the pods of n units as groups that may be on different nodes, where the pods could
// be divided among units in another way. Only the numbers of pods in the groups have a meaning.
func (g *Group) Apart(n int) []*Group {
	if len(g.Members) == 0 {
		return []*Group{{Shape: g.Shape, Need: g.Need, Pods: g.Pods[:n*g.Bundle], Bundle: g.Bundle}}
	}
	out := make([]*Group, len(g.Members))
	for i, m := range g.Members {
		out[i] = &Group{Shape: m.Shape, Need: m.Need, Pods: g.Pods[:n*m.Count], Bundle: 1}
	}
	return out
}

// Take removes the pods of n units from the group.
func (g *Group) Take(n int) []*snapshot.Pod {
	n *= g.Bundle
	out := g.Pods[:n:n]
	g.Pods = g.Pods[n:]
	return out
}

// addGroups makes a group of the pods of one class, and one of each that has to wait for
// another pod's volume.
func (b *Batch) addGroups(sh *Shape, need []int64, pods []*snapshot.Pod, waiting map[*snapshot.Pod]plan.Reason) {
	free := slices.DeleteFunc(pods, func(p *snapshot.Pod) bool {
		why, waits := waiting[p]
		if waits {
			b.Groups = append(b.Groups, &Group{Shape: b.Refuse(sh, why), Need: need, Bundle: 1, Pods: []*snapshot.Pod{p}})
		}
		return waits
	})
	if len(free) > 0 {
		b.Groups = append(b.Groups, &Group{Shape: sh, Need: need, Bundle: 1, Pods: free})
	}
}

// join makes one group of groups that are alike, which follow each other.
func (b *Batch) join() {
	out := b.Groups[:0]
	for _, g := range b.Groups {
		if n := len(out); n > 0 && out[n-1].Shape == g.Shape && slices.Equal(out[n-1].Need, g.Need) {
			out[n-1].Pods = append(out[n-1].Pods, g.Pods...)
			continue
		}
		out = append(out, g)
	}
	if len(out) < len(b.Groups) {
		for _, g := range out {
			slices.SortFunc(g.Pods, byRank)
		}
	}
	clear(b.Groups[len(out):])
	b.Groups = out
}

// classesOf lists the classes in the order of their first pods, and the pods of each.
func classesOf(pods []*snapshot.Pod) (list []*snapshot.Class, members [][]*snapshot.Pod) {
	index := map[*snapshot.Class]int{}
	for _, p := range pods {
		at, ok := index[p.Class]
		if !ok {
			at = len(list)
			index[p.Class], list, members = at, append(list, p.Class), append(members, nil)
		}
		members[at] = append(members[at], p)
	}
	return list, members
}

// shapesOf lists the shapes of the classes by what they are.
func shapesOf(classes []*snapshot.Class) []*snapshot.Shape {
	var out []*snapshot.Shape
	seen := map[*snapshot.Shape]bool{}
	for _, c := range classes {
		if !seen[c.Shape] {
			seen[c.Shape], out = true, append(out, c.Shape)
		}
	}
	slices.SortFunc(out, byShape)
	return out
}

// others are the resources that pods and their volumes ask for.
func (b *Batch) others(classes []*snapshot.Class) []corev1.ResourceName {
	seen := map[corev1.ResourceName]bool{}
	for _, c := range classes {
		for _, a := range c.Requests {
			if !a.Quantity.IsZero() {
				seen[a.Name] = true
			}
		}
		b.ofVolumes(c.Shape, func(name corev1.ResourceName, _ int64) { seen[name] = true })
	}
	return slices.Collect(maps.Keys(seen))
}

// NeedOf is what pods of a class of the batch ask, their volumes included.
func (b *Batch) NeedOf(c *snapshot.Class) []int64 {
	need := b.Dims.Need(c.Requests)
	b.ofVolumes(c.Shape, func(name corev1.ResourceName, n int64) { need[b.Dims.Index[name]] = n })
	return need
}

// shapeOf runs the rules over a shape, once.
func (b *Batch) shapeOf(from *snapshot.Shape) *Shape {
	if known, ok := b.made[from]; ok {
		return known
	}
	sh := &Shape{}
	for _, add := range rules {
		add(b, from, sh)
	}
	b.made[from] = b.Intern(sh)
	return b.made[from]
}

// Intern finds the shape that is treated like this one.
func (b *Batch) Intern(sh *Shape) *Shape {
	sh.identify()
	if same, ok := b.same[sh.Key]; ok {
		return same
	}
	b.same[sh.Key] = sh
	return sh
}
