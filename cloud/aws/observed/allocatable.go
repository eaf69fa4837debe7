package observed

import (
	"encoding/json"
	"maps"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// AllocatableAnnotation of an EC2NodeClass holds what pods can request of its Nodes.
const AllocatableAnnotation = "millwright.dev/observed-allocatable"

// Allocatable is what pods could request of Nodes, by kind.
type Allocatable struct {
	// Hash is of the spec that the Nodes were launched from: another one may leave more.
	Hash string `json:"hash"`
	// Least are the smallest amounts of each kind as far as they were less than expected, and
	// its huge pages. A kind that has what was expected is there, too.
	Least map[Kind]corev1.ResourceList `json:"least"`
	// Common is what every kind lacks of what was expected. It is presumed of others.
	Common map[corev1.ResourceName]Lack `json:"common,omitempty"`
}

// Lack is so much of a resource, and such a share of all of it: the smallest that was seen of
// either. Reserves are the same on small machines and large ones, or grow with them; of a machine
// that was not seen no more is presumed than both say.
type Lack struct {
	Amount resource.Quantity `json:"amount"`
	Share  float64           `json:"share"`
}

// Of is what a machine with so much of the resource lacks.
func (l Lack) Of(whole resource.Quantity) resource.Quantity {
	share := resource.NewMilliQuantity(int64(l.Share*float64(whole.MilliValue())), whole.Format)
	if share.Cmp(l.Amount) < 0 {
		return *share
	}
	return l.Amount
}

// ReadAllocatable reads an annotation, of which nothing is left if it makes no sense or is of
// another spec.
func ReadAllocatable(text, hash string) Allocatable {
	var out Allocatable
	if json.Unmarshal([]byte(text), &out) != nil || out.Hash != hash || out.Least == nil {
		return Allocatable{Hash: hash, Least: map[Kind]corev1.ResourceList{}}
	}
	return out
}

// Text is the annotation, in a fixed order; empty if there is nothing to keep.
func (a *Allocatable) Text() string { return text(a, len(a.Least)) }

// Learn takes note of what pods can request of a Node, and what was expected.
func (a *Allocatable) Learn(k Kind, node, expected corev1.ResourceList) {
	least := maps.Clone(a.Least[k])
	if least == nil {
		least = corev1.ResourceList{}
	}
	for name, q := range node {
		had, known := least[name]
		switch more, counts := expected[name]; {
		case HugePages(name): // zero is none
			if known && q.Cmp(had) < 0 || !known && q.Sign() > 0 {
				least[name] = q
			}
		case q.Sign() <= 0 || strings.Contains(string(name), "/"): // what the kubelet or a plugin has not told yet
		case known && q.Cmp(had) < 0, !known && counts && q.Cmp(more) < 0:
			least[name] = q
		}
	}
	if k.Image != "" {
		a.Least[k] = least
	}
}

// HugePages reports whether a resource is memory in pages of some size.
func HugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// Compare works out what is common to all kinds, by what was expected of each type; a type that
// nothing was expected of does not count.
func (a *Allocatable) Compare(expected func(typeName string) corev1.ResourceList) {
	a.Common = nil
	for k, least := range a.Least {
		want := expected(k.Type)
		if want == nil {
			continue
		}
		lacks := map[corev1.ResourceName]Lack{}
		for name, q := range least {
			all, counts := want[name]
			less := all.DeepCopy()
			if name == corev1.ResourceMemory { // of which huge pages are a part
				for other, pages := range least {
					if HugePages(other) {
						less.Sub(pages)
					}
				}
			}
			if less.Sub(q); counts && less.Sign() > 0 {
				lacks[name] = Lack{less, less.AsApproximateFloat64() / all.AsApproximateFloat64()}
			}
		}
		if a.Common == nil {
			a.Common = lacks
			continue
		}
		maps.DeleteFunc(a.Common, func(name corev1.ResourceName, _ Lack) bool { _, too := lacks[name]; return !too })
		for name, had := range a.Common {
			now := lacks[name]
			if had.Amount.Cmp(now.Amount) < 0 {
				now.Amount = had.Amount
			}
			a.Common[name] = Lack{now.Amount, min(had.Share, now.Share)}
		}
	}
}

// Keep forgets images other than these.
func (a *Allocatable) Keep(images map[string]bool) {
	maps.DeleteFunc(a.Least, func(k Kind, _ corev1.ResourceList) bool { return !images[k.Image] })
}

// ByType is the smallest amounts of each type, whichever the image.
func (a *Allocatable) ByType() map[string]corev1.ResourceList {
	out := map[string]corev1.ResourceList{}
	for k, least := range a.Least {
		all := out[k.Type]
		if all == nil {
			all = corev1.ResourceList{}
			out[k.Type] = all
		}
		for name, q := range least {
			if had, ok := all[name]; !ok || q.Cmp(had) < 0 {
				all[name] = q
			}
		}
	}
	return out
}

// Of reads both records of an EC2NodeClass. What pods can request of a type's Nodes is nil, and
// what its Nodes lack common to all, if none was seen.
func Of(annotations map[string]string) (memory func(typeName string) (int64, bool), allocatable func(typeName string) (corev1.ResourceList, map[corev1.ResourceName]Lack)) {
	a := ReadAllocatable(annotations[AllocatableAnnotation], annotations[ec2class.AnnotationEC2NodeClassHash])
	bytes, least := Read(annotations[Annotation]).ByType(), a.ByType()
	return func(name string) (int64, bool) { seen, ok := bytes[name]; return seen, ok },
		func(name string) (corev1.ResourceList, map[corev1.ResourceName]Lack) {
			if seen, ok := least[name]; ok {
				return seen, nil
			}
			return nil, a.Common
		}
}
