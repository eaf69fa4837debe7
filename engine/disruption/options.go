package disruption

import (
	"time"

	"github.com/millwright-dev/millwright/engine/placement"
)

// Options tune a decision. The zero value is the default.
type Options struct {
	// Turn says which machines are asked about where the work does not suffice for all.
	// Zero follows the time, so that each has its turn; another number makes the
	// decision independent of the seconds at which it is asked.
	Turn int64
	// Placement are the options that the provisioning pass uses, so that both
	// count on the same machines for the same pods.
	Placement placement.Options
	// TerminateFirstDrift lets a machine that has drifted go before its replacement is launched
	// where its pool's limits or its capacity reservation have room for that only then, as
	// Karpenter's feature gate of that name does. One that has expired always may.
	TerminateFirstDrift bool
	// PodDeletionCosts has pods get deletion costs, as with Karpenter's feature gate
	// PodDeletionCostManagement.
	PodDeletionCosts bool
}

// SettleTime is how long a machine stays marked before it is removed. It covers
// kube-scheduler's view of the node being out of date plus one binding: longer keeps
// empty machines for longer, shorter lets a pod bind to a machine that is being deleted,
// where it would be evicted at once.
const SettleTime = 2 * time.Second

// work bounds what is asked of placement in one decision, in machines looked at, of whose
// pods eight count as one more; a quarter more if consolidation would have less than that.
// More finds savings in fewer passes, less makes a pass shorter: a machine is looked at in
// about 20 microseconds.
const work = 40_000

// turn is how long the same machines are asked about, in seconds.
const turn = 10
