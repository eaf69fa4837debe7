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
	// Least are the smallest amounts of each kind as far as they were less than expected, its huge
	// pages, and its disk if that is another than expected. A kind that has what was expected is
	// there, too.
	Least map[Kind]corev1.ResourceList `json:"least"`
	// Devices are those that a type's Nodes had last beyond what EC2 tells of it, by instance type,
	// whichever the image and the spec: their plugin says how many.
	Devices map[string]corev1.ResourceList `json:"devices,omitempty"`
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

// ReadAllocatable reads an annotation, of which nothing is left if it makes no sense, and the devices
// if it is of another spec.
func ReadAllocatable(text, hash string) Allocatable {
	var out Allocatable
	if json.Unmarshal([]byte(text), &out) != nil {
		out = Allocatable{}
	}
	if out.Hash != hash || out.Least == nil {
		return Allocatable{Hash: hash, Least: map[Kind]corev1.ResourceList{}, Devices: out.Devices}
	}
	return out
}

// Text is the annotation, in a fixed order; empty if there is nothing to keep.
func (a *Allocatable) Text() string { return text(a, len(a.Least)+len(a.Devices)) }

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
		case q.Sign() <= 0 || vendor(name) != "": // what the kubelet or a plugin has not told yet
		case known && q.Cmp(had) < 0, !known && counts && q.Cmp(more) < 0,
			!known && name == corev1.ResourceEphemeralStorage && q.Cmp(more) > 0: // on whichever disk the image has it
			least[name] = q
		}
	}
	if k.Image != "" {
		a.Least[k] = least
	}
}

// LearnDevices takes note of the devices in the capacity of Nodes of a type, of vendors of whose
// devices it is expected to have some. Of several Nodes the least counts, and of those that have
// none of a vendor's nothing follows: its plugin may not have told yet.
func (a *Allocatable) LearnDevices(typeName string, expected corev1.ResourceList, nodes []corev1.ResourceList) {
	told, having, least := map[string]int{}, map[corev1.ResourceName]int{}, corev1.ResourceList{}
	vendors := map[string]bool{}
	for name := range expected {
		vendors[vendor(name)] = true
	}
	for _, node := range nodes {
		tells := map[string]bool{}
		for name, q := range node {
			if v := vendor(name); v != "" && vendors[v] && q.Sign() > 0 {
				tells[v] = true
				if had, ok := least[name]; !ok || q.Cmp(had) < 0 {
					least[name] = q
				}
				having[name]++
			}
		}
		for v := range tells {
			told[v]++
		}
	}
	next := maps.Clone(a.Devices[typeName])
	maps.DeleteFunc(next, func(name corev1.ResourceName, _ resource.Quantity) bool { return told[vendor(name)] > 0 })
	for name, q := range least {
		if more := expected[name]; having[name] == told[vendor(name)] && q.Cmp(more) > 0 {
			if next == nil {
				next = corev1.ResourceList{}
			}
			next[name] = q
		}
	}
	if a.Devices == nil {
		a.Devices = map[string]corev1.ResourceList{}
	}
	if a.Devices[typeName] = next; len(next) == 0 {
		delete(a.Devices, typeName)
	}
}

// vendor is the domain of a device's name, empty of other resources.
func vendor(name corev1.ResourceName) string {
	domain, _, _ := strings.Cut(string(name), "/")
	if domain == string(name) {
		return ""
	}
	return domain
}

// Counted reports whether what was seen of a resource is all that there is of it, not what is left
// of what EC2 tells: huge pages, devices.
func Counted(name corev1.ResourceName) bool { return HugePages(name) || vendor(name) != "" }

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

// Of reads both records of an EC2NodeClass. What pods can request of a type's Nodes has what was seen
// only, and what its Nodes lack common to all is nil unless none was.
func Of(annotations map[string]string) (memory func(typeName string) (int64, bool), allocatable func(typeName string) (corev1.ResourceList, map[corev1.ResourceName]Lack)) {
	a := ReadAllocatable(annotations[AllocatableAnnotation], annotations[ec2class.AnnotationEC2NodeClassHash])
	bytes, least := Read(annotations[Annotation]).ByType(), a.ByType()
	return func(name string) (int64, bool) { seen, ok := bytes[name]; return seen, ok },
		func(name string) (corev1.ResourceList, map[corev1.ResourceName]Lack) {
			lacking := a.Common
			if _, ok := least[name]; ok {
				lacking = nil
			}
			seen := corev1.ResourceList{}
			maps.Copy(seen, least[name])
			maps.Copy(seen, a.Devices[name])
			return seen, lacking
		}
}
