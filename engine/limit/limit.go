// Package limit keeps account of what NodePools may have: spec.limits, and the machines that
// a pool, an image or a resource on trial may have.
//
//	snapshot ──► New ──► Ledger ──► Take, machine by machine, for launches of whatever origin
//
// Everything that exists counts until it is gone, also while it is being deleted. What is
// not launched yet counts as the largest that it may become: so the limits hold whatever
// the cloud makes of the claims.
package limit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Nodes is the name under which limits count machines.
const Nodes corev1.ResourceName = "nodes"

// Ledger is what pools have and may have. It is not safe for concurrent use.
type Ledger struct{ pools map[string]*account }

type account struct {
	limits, used corev1.ResourceList
	// trial is true if only one machine may be starting; images are those of which one may
	// be launched, by name, true once it is; resources are alike.
	trial     bool
	starting  int
	images    map[string]bool
	resources map[corev1.ResourceName]bool
}

// New opens a ledger for the pools of a snapshot.
func New(s *snapshot.Snapshot) *Ledger {
	l := &Ledger{pools: make(map[string]*account, len(s.Pools))}
	for _, p := range s.Pools {
		l.pools[p.Name] = &account{limits: p.Limits, used: corev1.ResourceList{}, trial: p.OnTrial, images: map[string]bool{}, resources: map[corev1.ResourceName]bool{}}
		for _, image := range p.TrialImages {
			l.pools[p.Name].images[image] = false
		}
		for _, name := range p.TrialResources {
			l.pools[p.Name].resources[name] = false
		}
	}
	for _, n := range s.Nodes {
		a := l.pools[n.Pool()]
		if a == nil {
			continue
		}
		if !n.Initialized() && !n.Deleting() {
			a.starting++
		}
		if len(a.limits) > 0 {
			add(a.used, Size(s.Pool(n.Pool()), n))
		}
	}
	return l
}

// Bound sets the limits of a pool, which may have changed since the snapshot.
func (l *Ledger) Bound(s *snapshot.Snapshot, pool string, limits corev1.ResourceList) {
	a := l.pools[pool]
	if a == nil {
		return
	}
	if len(a.limits) == 0 && len(limits) > 0 {
		for _, n := range s.Nodes {
			if n.Pool() == pool {
				add(a.used, Size(s.Pool(pool), n))
			}
		}
	}
	a.limits = limits
}

// Size is what a machine of a pool counts, itself among it.
func Size(p *snapshot.Pool, n *snapshot.Node) corev1.ResourceList {
	out := withItself(n.Capacity())
	if n.Object != nil || n.Claim.ProviderID != "" {
		return out
	}
	for _, t := range p.Types {
		if _, conflict := t.Requirements.Conflict(n.Claim.Requirements, func(string) bool { return true }); !conflict {
			raise(out, t.Capacity)
		}
	}
	return out
}

// Largest is what a planned machine counts: the most of each resource that any of its
// alternatives has.
func Largest(n *plan.NewNode) corev1.ResourceList {
	out := withItself(n.Choice.Type.Capacity)
	for _, a := range n.Alternatives {
		raise(out, a.Type.Capacity)
	}
	return out
}

// Take books a planned machine, or says which limit of its pool, the first object, it would
// exceed.
func (l *Ledger) Take(n *plan.NewNode) (plan.Reason, bool) {
	one := []plan.NewNode{*n}
	reason, over := l.TakeAll(one)
	*n = one[0]
	return reason, over
}

// TakeAll books machines that are launched together, all or none. It leaves them only
// alternatives that the limits have room for, whichever the others become; those of a pool
// that demands a choice of types keep all.
func (l *Ledger) TakeAll(list []plan.NewNode) (plan.Reason, bool) {
	before := l.clone(list)
	for i := range list {
		a, size := l.pools[list[i].Pool], planned(&list[i])
		if a == nil {
			continue
		}
		if reason, over := a.exceeded(&list[i], size); over {
			maps.Copy(l.pools, before)
			return reason, true
		}
		a.starting++
		if image := list[i].Choice.Type.Image; a.onTrial(image) {
			a.images[image] = true
		}
		for name := range a.resources {
			a.resources[name] = a.resources[name] || requests(&list[i], name)
		}
		add(a.used, size)
	}
	for i := range list {
		if a := l.pools[list[i].Pool]; a != nil && len(a.limits) > 0 {
			a.trim(&list[i])
		}
	}
	return plan.Reason{}, false
}

// With is a ledger in which planned machines are booked besides, as the largest that they
// may become.
func (l *Ledger) With(list []plan.NewNode) *Ledger {
	out := &Ledger{pools: maps.Clone(l.pools)}
	maps.Copy(out.pools, l.clone(list))
	for i := range list {
		if a := out.pools[list[i].Pool]; a != nil {
			add(a.used, Largest(&list[i]))
		}
	}
	return out
}

// Without is a ledger in which a machine of a pool does not count.
func (l *Ledger) Without(p *snapshot.Pool, n *snapshot.Node) *Ledger {
	out := &Ledger{pools: maps.Clone(l.pools)}
	maps.Copy(out.pools, l.clone([]plan.NewNode{{Pool: p.Name}}))
	used := out.pools[p.Name].used
	for name, q := range Size(p, n) {
		have := used[name]
		have.Sub(q)
		used[name] = have
	}
	return out
}

// planned is what a machine counts for certain: as its choice, or, where its pool demands a
// choice of types, as the largest that it may become.
func planned(n *plan.NewNode) corev1.ResourceList {
	if n.Requirements.HasMinValues() {
		return Largest(n)
	}
	return withItself(n.Choice.Type.Capacity)
}

// trim leaves a machine that is booked the alternatives that there is room for, and books
// what they have more than its choice.
func (a *account) trim(n *plan.NewNode) {
	if n.Requirements.HasMinValues() {
		return
	}
	booked, most := planned(n), planned(n)
	var kept []catalog.Choice
	for _, c := range n.Alternatives {
		if _, over := a.over(n.Pool, beyond(c.Type.Capacity, booked)); !over {
			kept = append(kept, c)
			raise(most, c.Type.Capacity)
		}
	}
	n.Alternatives = kept
	add(a.used, beyond(most, booked))
}

// beyond is by how much amounts are larger than others.
func beyond(amounts, others corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range amounts {
		more := q.DeepCopy()
		more.Sub(others[name])
		if more.Sign() > 0 {
			out[name] = more
		}
	}
	return out
}

func (l *Ledger) clone(list []plan.NewNode) map[string]*account {
	out := map[string]*account{}
	for i := range list {
		if a := l.pools[list[i].Pool]; a != nil && out[list[i].Pool] == nil {
			kept := *a
			kept.used, kept.images, kept.resources = a.used.DeepCopy(), maps.Clone(a.images), maps.Clone(a.resources)
			out[list[i].Pool] = &kept
		}
	}
	return out
}

// Used is what the machines of a pool have of what its limits are about, planned ones that
// are booked among them. It must not be changed.
func (l *Ledger) Used(pool string) corev1.ResourceList { return l.pools[pool].used }

// Over says which limit of a pool amounts would exceed.
func (l *Ledger) Over(pool string, amounts corev1.ResourceList) (plan.Reason, bool) {
	if a := l.pools[pool]; a != nil {
		return a.over(pool, amounts)
	}
	return plan.Reason{}, false
}

func holds(pool string, most resource.Quantity, have string) plan.Reason {
	return plan.Reason{Code: plan.LimitHolds, Objects: []plan.ObjectRef{plan.PoolRef(pool)}, Want: most.String(), Have: have}
}

// Within keeps the choices for one more machine of a pool that its limits have room for.
func (l *Ledger) Within(pool string, choices []catalog.Choice) []catalog.Choice {
	return slices.DeleteFunc(slices.Clone(choices), func(c catalog.Choice) bool {
		n := plan.NewNode{Pool: pool, Choice: c}
		_, over := l.pools[pool].exceeded(&n, Largest(&n))
		return over
	})
}

func (a *account) onTrial(image string) bool {
	_, is := a.images[image]
	return is
}

// requests reports whether pods of a planned machine ask for some of a resource.
func requests(n *plan.NewNode, name corev1.ResourceName) bool {
	q := n.Requests[name]
	return !q.IsZero()
}

// exceeded says which limit a machine would exceed.
func (a *account) exceeded(n *plan.NewNode, wants corev1.ResourceList) (plan.Reason, bool) {
	taken := a.images[n.Choice.Type.Image]
	for name := range a.resources {
		taken = taken || a.resources[name] && requests(n, name)
	}
	if taken || a.trial && a.starting > 0 {
		return plan.Reason{
			Code: plan.LimitHolds, Objects: []plan.ObjectRef{plan.PoolRef(n.Pool)}, Have: "its launches fail, so one machine at a time is tried",
		}, true
	}
	return a.over(n.Pool, wants)
}

func (a *account) over(pool string, wants corev1.ResourceList) (plan.Reason, bool) {
	for _, name := range slices.Sorted(maps.Keys(a.limits)) {
		most, want, sum := a.limits[name], wants[name], a.used[name].DeepCopy()
		sum.Add(want)
		if !want.IsZero() && sum.Cmp(most) > 0 {
			return holds(pool, most, string(name)+" would be "+sum.String()+" of "+most.String()), true
		}
	}
	return plan.Reason{}, false
}

// withItself is a capacity that also counts its machine.
func withItself(capacity corev1.ResourceList) corev1.ResourceList {
	out := capacity.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	out[Nodes] = *resource.NewQuantity(1, resource.DecimalSI)
	return out
}

func add(sum, more corev1.ResourceList) {
	for name, q := range more {
		have := sum[name]
		have.Add(q)
		sum[name] = have
	}
}

// raise makes amounts at least as large as others.
func raise(amounts, others corev1.ResourceList) {
	for name, q := range others {
		if have := amounts[name]; q.Cmp(have) > 0 {
			amounts[name] = q
		}
	}
}
