package supply

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement/vector"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Pool is a NodePool with what is left of its limits.
type Pool struct {
	*snapshot.Pool
	// Closed is why nothing is launched from the pool, nil if something may be.
	Closed *plan.Reason
	// Lo and hi are the range of the pool's launches.
	Lo, Hi int
	// Limits are the limited resources by name; used is what the pool's machines
	// take of them, those of this plan included.
	Limits []Limit
	Used   []int64
	// MinValues are the requirements with minValues.
	MinValues []requirement.Requirement
	// Zones counts the pool's machines by zone.
	Zones map[string]int
}

// Limit bounds what all machines of a pool have of a resource.
type Limit struct {
	Name corev1.ResourceName
	Most int64
}

func (s *Supply) newPool(p *snapshot.Pool) *Pool {
	out := &Pool{Pool: p, Closed: closed(p), Zones: map[string]int{}}
	for name, q := range p.Limits {
		out.Limits = append(out.Limits, Limit{name, vector.AmountDown(name, q)})
	}
	slices.SortFunc(out.Limits, func(a, b Limit) int { return cmp.Compare(a.Name, b.Name) })
	out.Used = make([]int64, len(out.Limits))
	for _, n := range s.Snap.Nodes {
		if n.Pool() == p.Name && !n.Deleting() {
			out.Zones[n.Labels()[corev1.LabelTopologyZone]]++
		}
	}
	for _, r := range p.Requirements {
		if r.MinValues() > 0 {
			out.MinValues = append(out.MinValues, r)
		}
	}
	return out
}

func closed(p *snapshot.Pool) *plan.Reason {
	refs := []plan.ObjectRef{{Kind: "NodePool", Name: p.Name}}
	switch {
	case p.Replicas != nil:
		return &plan.Reason{Code: plan.PoolStatic, Objects: refs}
	case p.NotReady != "" && p.Refused != nil:
		return &plan.Reason{Code: plan.LaunchesRefused, Objects: refs, Have: p.NotReady}
	case p.NotReady != "":
		return &plan.Reason{Code: plan.PoolNotReady, Objects: refs, Have: p.NotReady}
	}
	for _, r := range p.Requirements {
		if !r.Possible() {
			return &plan.Reason{Code: plan.PoolNotReady, Objects: refs, Have: "no label satisfies its requirements: " + r.String()}
		}
	}
	return nil
}

// SizeOf is what one machine takes of the limits.
func (p *Pool) SizeOf(t *catalog.Type) []int64 {
	out := make([]int64, len(p.Limits))
	for i, l := range p.Limits {
		q := t.Capacity[l.Name]
		out[i] = vector.AmountUp(l.Name, q)
		if l.Name == limit.Nodes {
			out[i] = 1
		}
	}
	return out
}

// Own is what a node of the pool says about the labels that the pool itself and
// the start of a node give it. The name of a node that does not exist yet is like
// no name that a pod can ask for.
func (p *Pool) Own(key string) (requirement.Requirement, bool) {
	switch key {
	case snapshot.PoolLabel:
		return requirement.Must(key, requirement.In, p.Name), true
	case snapshot.RegisteredLabel, snapshot.InitializedLabel:
		return requirement.Must(key, requirement.In, "true"), true
	case corev1.LabelHostname, snapshot.NameField:
		return requirement.Must(key, requirement.In, unknownName), true
	case p.Class.Group + "/" + strings.ToLower(p.Class.Kind):
		return requirement.Must(key, requirement.In, p.Class.Name), true
	}
	return requirement.Requirement{}, false
}

const unknownName = "\x00new"

// Affords reports whether one more machine of a size keeps to the limits.
func (p *Pool) Affords(size []int64) bool {
	for d, n := range size {
		if n > p.Limits[d].Most-p.Used[d] {
			return false
		}
	}
	return true
}

// Spares reports whether so many machines may all be so much larger than planned.
func (p *Pool) Spares(size, planned []int64, boxes int) bool {
	for d := range size {
		if extra := size[d] - planned[d]; extra > 0 && extra > (p.Limits[d].Most-p.Used[d])/int64(boxes) {
			return false
		}
	}
	return true
}

// Commit takes what pools have of their limits from a ledger, in which machines that are
// planned count with their largest alternatives: what is launched from the pools after
// that cannot count on it.
func (m *Offerings) Commit(ledger *limit.Ledger) {
	for _, p := range m.Pools {
		used := ledger.Used(p.Name)
		for i, l := range p.Limits {
			p.Used[i] = vector.AmountUp(l.Name, used[l.Name])
		}
	}
}

// Share is the largest share that machines of a size take of what the limits would leave without
// machines of another size.
func (p *Pool) Share(size, without []int64) float64 {
	share := 0.0
	for d, n := range size {
		if left := p.Limits[d].Most - p.Used[d] + without[d]; n > 0 {
			share = max(share, float64(n)/float64(max(left, 1)))
		}
	}
	return share
}
