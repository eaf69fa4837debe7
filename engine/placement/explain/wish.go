package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/placement/demand"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// wish is one thing that a pod asks of a node's labels, and where it says so: a
// label of its nodeSelector, an expression of its node affinity, all terms of that
// if there are several, or a volume claim.
type wish struct {
	kind  kind
	field string
	// claim is the name of a volume claim.
	object plan.ObjectRef
	// text is the wish as it is written.
	text string
	// terms are alternatives.
	terms []requirement.Set
}

// wishesOf lists what a pod asks for. The book is nil where no pod has volumes.
func wishesOf(p *snapshot.Pod, book *volumes.Book) []wish {
	var out []wish
	for _, r := range requirement.FromLabels(p.Spec.NodeSelector) {
		out = append(out, wish{kind: label, field: plan.FieldNodeSelector, text: r.Key() + "=" + r.Values()[0], terms: []requirement.Set{{r}}})
	}
	return slices.Concat(out, affinityWishes(p), claimWishes(p, book))
}

func affinityWishes(p *snapshot.Pod) []wish {
	var terms []requirement.Set
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			// What cannot be read has been refused before.
			set, err := requirement.FromNodeSelectorTerm(slices.Concat(t.MatchExpressions, t.MatchFields))
			if err == nil && len(set) > 0 {
				terms = append(terms, set)
			}
		}
	}
	if len(terms) > 1 {
		return []wish{{kind: label, field: plan.FieldNodeAffinity, text: demand.Alternatives(terms), terms: terms}}
	}
	var out []wish
	for _, r := range slices.Concat(terms...) {
		out = append(out, wish{kind: label, field: plan.FieldNodeAffinity, text: r.String(), terms: []requirement.Set{{r}}})
	}
	return out
}

// claimWishes are where a pod's volumes can be reached from.
func claimWishes(p *snapshot.Pod, book *volumes.Book) []wish {
	var out []wish
	for i, c := range p.Class.VolumeClaims {
		if slices.ContainsFunc(p.Class.VolumeClaims[:i], func(o snapshot.VolumeClaim) bool { return o.Name == c.Name }) {
			continue
		}
		wanted, reason := book.Resolve(&snapshot.Shape{Namespace: p.Namespace, VolumeClaims: []snapshot.VolumeClaim{c}})
		if reason != nil || len(wanted.Terms) == 1 && len(wanted.Terms[0]) == 0 {
			continue
		}
		ref := plan.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: p.Namespace, Name: c.Name}
		out = append(out, wish{kind: claim, field: plan.FieldVolumes, object: ref, text: demand.Alternatives(wanted.Terms), terms: wanted.Terms})
	}
	return out
}

// joined makes one of wishes that are about one label which the pool leaves open: on
// one machine they have to agree about its value. Others hold one by one.
func (sh *shelf) joined(wishes []wish) []wish {
	var out []wish
	for i := range wishes {
		w := wishes[i]
		j := slices.IndexFunc(out, func(o wish) bool {
			return slices.ContainsFunc(o.keys(), func(k string) bool { return slices.Contains(w.keys(), k) && len(sh.index.Open(k)) > 0 })
		})
		if j < 0 {
			out = append(out, w)
			continue
		}
		o := &out[j]
		out[j] = wish{kind: o.kind, field: w.field, object: w.object, text: o.text + " with " + w.text, terms: volumes.Combine(o.terms, w.terms)}
	}
	return out
}

// keys are the labels that a wish is about, in order.
func (w *wish) keys() []string {
	var out []string
	for _, t := range w.terms {
		for _, r := range t {
			out = append(out, r.Key())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// profile is equal for pods that ask for the same at the same places.
func profile(p *snapshot.Pod, wishes []wish) string {
	var b strings.Builder
	for i := range wishes {
		w := &wishes[i]
		fmt.Fprintf(&b, "%s %s %s\n", w.field, w.object.Name, w.text)
	}
	fmt.Fprint(&b, len(p.Class.Tolerations))
	for _, t := range p.Class.Tolerations {
		fmt.Fprintf(&b, "\n%s %s %s %s", t.Key, t.Operator, t.Value, t.Effect)
	}
	return b.String()
}

// listed prints the first of a list and counts the rest.
func listed(list []string) string {
	const shown = 6
	if len(list) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:shown-1], ", "), len(list)-shown+1)
	}
	return strings.Join(list, ", ")
}
