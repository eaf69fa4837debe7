package volumes

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Book is what there is to know about the volumes of one batch of pods. It does
// not change and is safe for concurrent use.
type Book struct {
	s *snapshot.Snapshot
	// given are the volumes that are there for the taking, by the claim that gets
	// each.
	given map[types.NamespacedName]*corev1.PersistentVolume
	// shared are those that several pods use and that are counted once for a node,
	// by driver.
	shared map[string]map[id]bool
	// together are the claims without a volume that several pods wait for.
	together map[types.NamespacedName]bool
}

// Demand is what a pod's volumes ask of its node.
type Demand struct {
	// Terms are alternatives of which the node must satisfy one; a single nil
	// term if it does not matter.
	Terms []requirement.Set
	// Attach is the number of volumes by CSI driver that are the pod's alone.
	Attach map[string]int64
	// Shares are the CSI drivers, by name, of volumes that other pods use as well.
	Shares []string
}

// Use is a shape and the number of pods that have it.
type Use struct {
	Shape *snapshot.Shape
	Pods  int
}

// NewBook reads the volumes of the pods that are to be placed.
func NewBook(s *snapshot.Snapshot, uses []Use) *Book {
	b := &Book{s: s}
	b.give(uses)
	b.share(uses)
	b.bringTogether(uses)
	return b
}

// Resolve finds out what the volumes of a shape demand, or the reason why no node
// will do.
func (b *Book) Resolve(shape *snapshot.Shape) (Demand, *plan.Reason) {
	d := Demand{Terms: []requirement.Set{nil}}
	for _, c := range shape.VolumeClaims {
		name := types.NamespacedName{Namespace: shape.Namespace, Name: c.Name}
		terms, reason := b.reach(name, &c)
		if reason != nil {
			return Demand{}, reason
		}
		if d.Terms = Combine(d.Terms, terms); len(d.Terms) == 0 {
			return Demand{}, unusable(name, "no node can reach it together with the pod's other volumes")
		}
	}
	for _, x := range b.volumesOf(shape) {
		switch {
		case !b.shared[x.driver][x]:
			if d.Attach == nil {
				d.Attach = map[string]int64{}
			}
			d.Attach[x.driver]++
		case !slices.Contains(d.Shares, x.driver):
			d.Shares = append(d.Shares, x.driver)
		}
	}
	slices.Sort(d.Shares)
	return d, nil
}

// Combine is every combination that is not a contradiction, each once.
func Combine(a, b []requirement.Set) []requirement.Set {
	if b == nil {
		return a
	}
	var out []requirement.Set
	seen := map[string]bool{}
	for _, x := range a {
		for _, y := range b {
			set := x.And(y)
			if name := set.Exact(); possible(set) && !seen[name] {
				seen[name] = true
				out = append(out, set)
			}
		}
	}
	return out
}

func possible(s requirement.Set) bool {
	return !slices.ContainsFunc(s, func(r requirement.Requirement) bool { return !r.Possible() })
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func unusable(name types.NamespacedName, why string) *plan.Reason {
	return &plan.Reason{Code: plan.VolumeClaimUnusable, Objects: []plan.ObjectRef{claimRef(name)}, Have: why}
}

func claimRef(name types.NamespacedName) plan.ObjectRef {
	return plan.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: name.Namespace, Name: name.Name}
}
