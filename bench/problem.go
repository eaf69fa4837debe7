package bench

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Now is when every batch arrives.
var Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Problem is pods on an empty cluster. Engines must not modify it.
type Problem struct {
	// Pods are pending, all in one namespace; each has a UID.
	Pods []*corev1.Pod
	// Waves are in how many equal parts the pods come, in their order; each is planned
	// beside the machines of those before it. Zero and one are all at once.
	Waves int
	// Pools are what may be launched, in any order.
	Pools []*karpv1.NodePool
	// Types are the machines that the cloud offers to every pool.
	Types []*catalog.Type
	// DaemonSets run on every machine that they tolerate and select.
	DaemonSets []*appsv1.DaemonSet
}

// Outcome is an engine's plan in the words that both engines share.
type Outcome struct {
	Machines []Machine
	// CutOff says that the engine ran out of time; what it had placed by then
	// counts.
	CutOff bool
}

// Machine is one machine to launch, as the cheapest offering that the plan
// leaves open.
type Machine struct {
	Pool, Type, Zone, CapacityType string
	// Price is in $/h, as the engine believes; check compares it to the
	// catalogue.
	Price float64
	Pods  []types.UID
}

// InWaves are the pods in the parts in which they come.
func (p *Problem) InWaves() [][]*corev1.Pod {
	waves := max(p.Waves, 1)
	return slices.Collect(slices.Chunk(p.Pods, max((len(p.Pods)+waves-1)/waves, 1)))
}

// PricePerHour is the sum over the machines, in $/h.
func (o *Outcome) PricePerHour() float64 {
	var sum float64
	for _, m := range o.Machines {
		sum += m.Price
	}
	return sum
}

// Placed is the number of pods that have a machine.
func (o *Outcome) Placed() int {
	var n int
	for _, m := range o.Machines {
		n += len(m.Pods)
	}
	return n
}

// Engine is a scheduler under comparison.
type Engine interface {
	// Name is the engine's column in the table.
	Name() string
	// Prepare does what a running controller has done before the batch arrives,
	// and is not timed.
	Prepare(p *Problem) (Solve, error)
}

// Solve plans the problem that it was prepared for, from plain pods and from
// scratch each time it is called. The call is timed; the function that it
// returns, which translates the plan, is not.
type Solve func(ctx context.Context) (func() *Outcome, error)
