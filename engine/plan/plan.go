package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Plan is the answer of placement to one snapshot.
type Plan struct {
	// NewNodes are the machines to launch, in a fixed order.
	NewNodes []NewNode
	// Placements are pods that fit on machines that exist or are on their way.
	Placements []Placement
	// Expected are pods that controllers are about to create, and chunks of buffers, that fit
	// there as well.
	Expected []Placement
	// Unplaced are the pods for which there is no machine, with the reasons.
	Unplaced []Unplaced
	// UnplacedChunks are those of buffers for which there is none.
	UnplacedChunks []Unplaced
	// Ignored are the pending pods that are none of placement's business, with the
	// reason.
	Ignored []Unplaced
	// Relaxed are the preferences that the plan does not keep.
	Relaxed []Relaxed
	// Disruptions are the machines that would be taken away or replaced now, and Stays
	// why the others of ours stay. Placement leaves both empty; package disruption
	// fills them.
	Disruptions []Disruption
	Stays       []Stay
	// LowerBound is a price in $/h below which no set of new machines can hold
	// the pods that the plan puts on new machines, each in a pool of the weight
	// that the plan has it in. Exotic machines are only among them where one of the
	// pods needs such.
	LowerBound float64
	Stats      Stats
}

// NewNode is one machine to launch.
type NewNode struct {
	Pool string
	// Choice is the machine that the plan counts on.
	Choice catalog.Choice
	// Alternatives are every choice that would hold the pods, cheapest first; the
	// first one is Choice.
	Alternatives []catalog.Choice
	// Pods are those that the machine is launched for.
	Pods []*snapshot.Pod
	// Expected are those that controllers are about to create, and chunks of buffers, for which it
	// has room, too.
	Expected []*snapshot.Pod
	// Requirements and Requests are what the claim must demand of the machine, so
	// that any machine that satisfies them can run the pods.
	Requirements requirement.Set
	Requests     corev1.ResourceList
	// MinValuesRelaxed says that the requirements demand fewer different values of
	// some label than the pool wishes for.
	MinValuesRelaxed bool
}

// Placement is a pod and the machine, existing or in flight, that has room.
type Placement struct {
	Pod  *snapshot.Pod
	Node *snapshot.Node
}

// Unplaced is a pod for which there is no machine.
type Unplaced struct {
	Pod     *snapshot.Pod
	Reasons []Reason
}

// Relaxed is a preference that the plan does not keep, with the pods that have it:
// they are placed, but not as they would rather be.
type Relaxed struct {
	Reason Reason
	Pods   []*snapshot.Pod
}

// Stats counts the work behind a plan.
type Stats struct {
	// Pods is the number of pending pods, Classes of distinct ones.
	Pods    int `json:"pods"`
	Classes int `json:"classes"`
}

// PricePerHour is the sum over the new machines, in $/h.
func (p *Plan) PricePerHour() float64 { return PriceOf(p.NewNodes) }

// PriceOf is what machines cost that are counted on, in $/h.
func PriceOf(list []NewNode) float64 {
	sum := 0.0
	for i := range list {
		sum += list[i].Choice.Offering.Price
	}
	return sum
}
