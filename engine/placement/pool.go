package placement

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// pool is a NodePool with what is left of its limits.
type pool struct {
	*snapshot.Pool
	// closed is why nothing is launched from the pool, nil if something may be.
	closed *plan.Reason
	// lo and hi are the range of the pool's launches.
	lo, hi int
	// limits are the limited resources by name; used is what the pool's machines
	// take of them, those of this plan included.
	limits []limit
	used   []int64
	// floors are the requirements with minValues.
	floors []requirement.Requirement
	// zones counts the pool's machines by zone.
	zones map[string]int
}

type limit struct {
	name corev1.ResourceName
	most int64
}

// nodesLimit bounds the number of a pool's nodes.
const nodesLimit corev1.ResourceName = "nodes"

func (s *supply) newPool(p *snapshot.Pool) *pool {
	out := &pool{Pool: p, closed: closed(p), zones: map[string]int{}}
	for name, q := range p.Limits {
		out.limits = append(out.limits, limit{name, amountDown(name, q)})
	}
	slices.SortFunc(out.limits, func(a, b limit) int { return cmp.Compare(a.name, b.name) })
	out.used = make([]int64, len(out.limits))
	for _, n := range s.snap.Nodes {
		if n.Pool() == p.Name && !n.Deleting() {
			out.count(n)
		}
	}
	for _, r := range p.Requirements {
		if r.MinValues() > 0 {
			out.floors = append(out.floors, r)
		}
	}
	return out
}

func closed(p *snapshot.Pool) *plan.Reason {
	refs := []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}}
	switch {
	case p.Replicas != nil:
		return &plan.Reason{Code: plan.PoolStatic, Objects: refs}
	case p.NotReady != "":
		return &plan.Reason{Code: plan.PoolNotReady, Objects: refs, Have: p.NotReady}
	}
	return nil
}

// count adds a machine to what the pool has. A machine that is being deleted does
// not count, so that its pods can move while it goes; one that is not launched
// counts as the largest that it may become.
func (p *pool) count(n *snapshot.Node) {
	p.zones[n.Labels()[corev1.LabelTopologyZone]]++
	for i, l := range p.limits {
		p.used[i] += p.amountOf(n, l.name)
	}
}

func (p *pool) amountOf(n *snapshot.Node, name corev1.ResourceName) int64 {
	if name == nodesLimit {
		return 1
	}
	q := n.Capacity()[name]
	amount := amountUp(name, q)
	if n.Object == nil && n.Claim.ProviderID == "" {
		for _, t := range p.Types {
			if _, conflict := t.Requirements.Conflict(n.Claim.Requirements, anyKey); !conflict {
				q := t.Capacity[name]
				amount = max(amount, amountUp(name, q))
			}
		}
	}
	return amount
}

// sizeOf is what one machine takes of the limits.
func (p *pool) sizeOf(t *catalog.Type) []int64 {
	if len(p.limits) == 0 {
		return nil
	}
	out := make([]int64, len(p.limits))
	for i, l := range p.limits {
		q := t.Capacity[l.name]
		out[i] = amountUp(l.name, q)
		if l.name == nodesLimit {
			out[i] = 1
		}
	}
	return out
}

// left is what the limits still allow, nil if there are none.
func (p *pool) left() []int64 {
	if len(p.limits) == 0 {
		return nil
	}
	out := make([]int64, len(p.limits))
	for i, l := range p.limits {
		out[i] = max(0, l.most-p.used[i])
	}
	return out
}

// takes reports whether the pool's requirements allow an offering.
func (p *pool) takes(o *catalog.Offering) bool {
	for _, r := range p.Requirements {
		if value, ok := offeringLabel(o, r.Key()); ok && !r.Has(value) {
			return false
		}
	}
	return true
}

// own is what a node of the pool says about the labels that the pool itself and
// the start of a node give it. The name of a node that does not exist yet is like
// no name that anybody could ask for.
func (p *pool) own(key string) (requirement.Requirement, bool) {
	switch key {
	case poolLabel:
		return requirement.Must(key, requirement.In, p.Name), true
	case snapshot.RegisteredLabel, snapshot.InitializedLabel:
		return requirement.Must(key, requirement.In, "true"), true
	case corev1.LabelHostname:
		return requirement.Must(key, requirement.In, unknownName), true
	case p.Class.Group + "/" + strings.ToLower(p.Class.Kind):
		return requirement.Must(key, requirement.In, p.Class.Name), true
	}
	return requirement.Requirement{}, false
}

const unknownName = "\x00new"
