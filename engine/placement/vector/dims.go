package vector

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Dims turns amounts into vectors: one number for each resource that some pod
// asks for, in the order of their names. CPU counts in thousandths, everything
// else in units, as in the scheduler.
type Dims struct {
	Names []corev1.ResourceName
	Index map[corev1.ResourceName]int
}

// New makes the dimensions of some resources, in the order of their names.
func New(names []corev1.ResourceName) *Dims {
	slices.Sort(names)
	d := &Dims{Names: slices.Compact(names), Index: map[corev1.ResourceName]int{}}
	for i, name := range d.Names {
		d.Index[name] = i
	}
	return d
}

// Need rounds up; what is no dimension is left out.
func (d *Dims) Need(asked snapshot.Amounts) []int64 {
	need := make([]int64, len(d.Names))
	for at := range asked {
		if i, ok := d.Index[asked[at].Name]; ok {
			need[i] = AmountUp(asked[at].Name, asked[at].Quantity)
		}
	}
	return need
}

// Have rounds down and is never negative.
func (d *Dims) Have(list corev1.ResourceList) []int64 {
	out := make([]int64, len(d.Names))
	for i, name := range d.Names {
		if q, ok := list[name]; ok {
			out[i] = Held(name, q)
		}
	}
	return out
}

// Amounts are at most so much: sums of a million of them do not overflow. What is
// beyond is asked of no machine that there is, and no machine has as much.
const (
	mostAsked = int64(1) << 42 * 1024
	mostHeld  = mostAsked - 1
)

// AmountUp is a quantity as a number, CPU in thousandths, rounded up: what is asked
// for. Amounts that are too large to count are all alike.
func AmountUp(name corev1.ResourceName, q resource.Quantity) int64 {
	scale := resource.Scale(0)
	if name == corev1.ResourceCPU {
		scale = resource.Milli
	}
	if q.Sign() > 0 && q.Cmp(*resource.NewScaledQuantity(mostAsked, scale)) >= 0 {
		return mostAsked
	}
	return q.ScaledValue(scale)
}

// AmountDown is a quantity as a number, CPU in thousandths, rounded down: what
// there is.
func AmountDown(name corev1.ResourceName, q resource.Quantity) int64 {
	if _, whole := q.AsInt64(); whole {
		return AmountUp(name, q)
	}
	n := AmountUp(name, q)
	if q.Cmp(Quantity(name, n)) < 0 {
		return n - 1
	}
	return n
}

// Held is what there is of a resource, rounded down and never negative.
func Held(name corev1.ResourceName, q resource.Quantity) int64 {
	return min(max(0, AmountDown(name, q)), mostHeld)
}

// Quantity is the amount in Kubernetes' words.
func Quantity(name corev1.ResourceName, n int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(n, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(n, resource.BinarySI)
	}
	if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
		return *resource.NewQuantity(n, resource.BinarySI)
	}
	return *resource.NewQuantity(n, resource.DecimalSI)
}

// List is a vector in Kubernetes' words, without what is zero.
func (d *Dims) List(vec []int64) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i, n := range vec {
		if n != 0 {
			out[d.Names[i]] = Quantity(d.Names[i], n)
		}
	}
	return out
}

// Add adds a vector to a sum so many times; what becomes too large to count stays so.
func Add(sum, vec []int64, times int64) {
	for i, n := range vec {
		if n > 0 && times > (mostAsked-sum[i])/n {
			sum[i] = mostAsked
			continue
		}
		sum[i] += n * times
	}
}

// Amount is one amount with the name of its resource.
func (d *Dims) Amount(i int, n int64) string {
	if n >= mostAsked {
		return fmt.Sprintf("%s more than any machine has", d.Names[i])
	}
	if of, devices := strings.CutPrefix(string(d.Names[i]), snapshot.DevicePrefix); devices {
		if n == 1 {
			return "1 device of " + of
		}
		return fmt.Sprintf("%d devices of %s", n, of)
	}
	q := Quantity(d.Names[i], n)
	return fmt.Sprintf("%s %s", d.Names[i], q.String())
}
