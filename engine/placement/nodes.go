package placement

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement/affinity"
	"github.com/millwright-dev/millwright/engine/placement/bitset"
	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/supply"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// content is what a box comes to: who is in it, and what its machine must be.
type content struct {
	pool *supply.Pool
	// terms are the requirements that were chosen, one for each shape.
	terms []requirement.Set
	// launches are the ways to get a machine whose labels will do, if it is of the pool.
	launches bitset.Set
	need     []int64
	// clashes are the tokens that no DaemonSet of the machine may have.
	clashes []pack.Token
}

// poolOf is the pool that a box is launched from.
func (t *packing) poolOf(b *pack.Box) *supply.Pool {
	return t.w.Offerings.Pools[t.w.Offerings.Launches[t.launch[b.Model]].Pool]
}

// contentOf works out what a box demands.
func (t *packing) contentOf(b *pack.Box) *content {
	m := t.w.Offerings
	model := &t.problem.Models[b.Model]
	c := &content{pool: t.poolOf(b), need: make([]int64, len(t.w.Dims.Names)), launches: t.offered.Clone()}
	m.Alike(c.launches, t.launch[b.Model])
	open := model.Open.Clone()
	done := map[int]bool{}
	for _, part := range b.Parts {
		item := &t.problem.Items[part.Item]
		vector.Add(c.need, t.groups[part.Item].Need, int64(part.Count))
		if !done[item.Family] {
			done[item.Family] = true
			t.choose(c, item.Family, b.Model, open)
		}
	}
	return c
}

// choose picks the term by which a shape is satisfied: the first that the box's
// model satisfies together with what was chosen before.
func (t *packing) choose(c *content, family, model int, open bitset.Set) {
	sh := t.shapes[family]
	c.clashes = append(c.clashes, t.problem.Families[family].Conflicts...)
	for v, accepted := range t.accepts[family] {
		if !accepted.Has(t.launch[model]) {
			continue
		}
		if t.cells != nil {
			state := t.problem.Families[family].Variants[v].State
			if !t.cells.Possible(open, state) {
				continue
			}
			open.And(state)
		}
		c.launches.And(accepted)
		c.terms = append(c.terms, sh.Terms[v])
		return
	}
}

// suits reports whether a launch's machine holds the content.
func (t *packing) suits(c *content, i int) bool {
	m := t.w.Offerings
	l := &m.Launches[i]
	return m.Takes(c.need, l) && !slices.ContainsFunc(m.Overheads[l.Overhead].Present, func(p pack.Token) bool { return slices.Contains(c.clashes, p) })
}

// admit puts boxes in order, charges them to their pools, and drops those that the pools'
// limits do not leave enough of a choice.
func (t *packing) admit(boxes []pack.Box) []pack.Box {
	slices.SortFunc(boxes, func(a, b pack.Box) int { return t.compareBoxes(&a, &b) })
	t.charge(boxes, 1)
	return t.keepMinValues(boxes)
}

// nodes turns boxes into machines to launch and takes their pods from the groups.
func (t *packing) nodes(boxes []pack.Box) []plan.NewNode {
	out := make([]plan.NewNode, len(boxes))
	for i := range boxes {
		chosen := 0
		out[i], chosen = t.node(&boxes[i], len(boxes))
		t.w.chosen = append(t.w.chosen, chosen)
	}
	return out
}

// compareBoxes orders boxes by pool and by what they are, the cheapest first. Which zones they
// get depends on those that came before, so what their types are called comes last.
func (t *packing) compareBoxes(a, b *pack.Box) int {
	x, y := &t.problem.Models[a.Model], &t.problem.Models[b.Model]
	one, other := &t.w.Offerings.Launches[t.launch[a.Model]], &t.w.Offerings.Launches[t.launch[b.Model]]
	if c := cmp.Or(cmp.Compare(one.Pool, other.Pool), cmp.Compare(x.Price, y.Price)); c != 0 {
		return c
	}
	parts := slices.CompareFunc(a.Parts, b.Parts, func(x, y pack.Part) int {
		return cmp.Or(cmp.Compare(x.Item, y.Item), cmp.Compare(y.Count, x.Count))
	})
	return cmp.Or(parts, slices.Compare(x.Weighs, y.Weighs), slices.Compare(x.Holds, y.Holds), cmp.Compare(one.Kind, other.Kind))
}

// charge takes the boxes from their pools' limits, or gives them back.
func (t *packing) charge(boxes []pack.Box, times int64) {
	for i := range boxes {
		t.w.Offerings.Charge(t.launch[boxes[i].Model], times)
	}
}

// node turns one of so many boxes into a machine, and tells the launch that is counted
// on.
func (t *packing) node(b *pack.Box, boxes int) (plan.NewNode, int) {
	c := t.contentOf(b)
	n := plan.NewNode{Pool: c.pool.Name}
	n.Pods = make([]*snapshot.Pod, 0, t.podsOf(b))
	for _, part := range b.Parts {
		n.Pods = append(n.Pods, t.groups[part.Item].Take(part.Count)...)
	}
	slices.SortFunc(n.Pods, snapshot.ComparePods)
	chosen := t.shortlist(c, t.launch[b.Model], boxes)
	c.pool.Zones[t.w.Offerings.Launches[chosen[0]].Offering.Zone]++
	list := t.listOf(chosen)
	n.Alternatives, n.Choice = list.choices, list.choices[0]
	n.Requirements, n.MinValuesRelaxed = t.relax(t.requirements(c, list.types, chosen[0]), c.pool, chosen)
	n.Requests = t.requests(c, chosen)
	return n, chosen[0]
}

// list is a shortlist in the plan's words. Most machines of a plan share theirs.
type list struct {
	choices []catalog.Choice
	types   requirement.Requirement
}

func (t *packing) listOf(chosen []int) *list {
	key := make([]byte, 0, 3*len(chosen))
	for _, i := range chosen {
		key = binary.AppendUvarint(key, uint64(i))
	}
	if known, ok := t.lists[string(key)]; ok {
		return known
	}
	out := &list{choices: make([]catalog.Choice, 0, len(chosen))}
	kinds := bitset.New(len(t.w.Offerings.Kinds))
	for _, i := range chosen {
		l := &t.w.Offerings.Launches[i]
		out.choices = append(out.choices, catalog.Choice{Type: t.w.Offerings.Kinds[l.Kind].Type, Offering: l.Offering})
		kinds.Add(int(l.Kind))
	}
	// The kinds of a pool are by name.
	names := make([]string, 0, kinds.Len())
	for k := range kinds.All() {
		names = append(names, t.w.Offerings.Kinds[k].Name)
	}
	out.types = requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, names...)
	t.lists[string(key)] = out
	return out
}

// requirements are the pool's, narrowed by what the pods demand, and the types
// that were checked. A pod that only excludes certain values of a label which the
// machine will not have at all is content as it is: to demand anything about the
// label would be to ask for one.
func (t *packing) requirements(c *content, types requirement.Requirement, choice int) requirement.Set {
	set := c.pool.Requirements
	for _, term := range c.terms {
		set = set.And(slices.DeleteFunc(slices.Clone(term), func(r requirement.Requirement) bool {
			says := t.w.Offerings.Index.Says(choice, r.Key())
			return r.Absent() && affinity.Fixed(says) && says.Absent()
		}))
	}
	// What is counted on a reservation has to come from it.
	if _, reserved := t.w.Offerings.ReservationOf(choice); reserved {
		set = set.With(requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.Reserved)).
			And(requirement.FromLabels(t.w.Offerings.Launches[choice].Offering.Labels))
	}
	return set.With(types).
		Without(corev1.LabelHostname, snapshot.NameField, snapshot.RegisteredLabel, snapshot.InitializedLabel)
}

// requests are the pods', and the least that DaemonSets take on any of the
// alternatives.
func (t *packing) requests(c *content, chosen []int) corev1.ResourceList {
	sum := slices.Clone(c.need)
	least := slices.Clone(t.w.Offerings.Overheads[t.w.Offerings.Launches[chosen[0]].Overhead].Need)
	for _, i := range chosen {
		for d, n := range t.w.Offerings.Overheads[t.w.Offerings.Launches[i].Overhead].Need {
			least[d] = min(least[d], n)
		}
	}
	vector.Add(sum, least, 1)
	out := t.w.Dims.List(sum)
	for name := range out {
		if demand.OfVolumes(name) || strings.HasPrefix(string(name), snapshot.DevicePrefix) {
			delete(out, name)
		}
	}
	return out
}
