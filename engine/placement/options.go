package placement

import (
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/placement/supply"
)

// Options bound what Solve does. The zero value is the default.
type Options struct {
	// Preference is how much more a plan may cost for what pods prefer: a share
	// of the price of the pods that prefer something. More buys more of what
	// workloads would rather have, less keeps the bill low. Zero is 0.1, a tenth;
	// negative follows preferences only where that costs nothing.
	Preference float64
	// RelaxMinValues makes minValues a wish, as Karpenter's policy BestEffort does:
	// pods for which a pool has fewer different values than it demands get a machine
	// with as many as there are, and the claim demands no more. Otherwise they get
	// none.
	RelaxMinValues bool
	// IgnorePreferences plans as if no pod preferred anything. Plans are made in less
	// time; kube-scheduler will still do what it can.
	IgnorePreferences bool
	// MaxCPU is how many vCPUs a new machine has at most: less goes down with a small
	// machine. Zero is without bound.
	MaxCPU int64
	// MinTypes is how many instance types the alternatives of every new node name at
	// least, like minValues in every pool: what runs out of one type is there in
	// another. Boxes are filled less where only few types are large enough. Zero
	// is 1.
	MinTypes int
	// Cache keeps the instance types in the form in which placement reads them from
	// one plan to the next, and may be shared. Nil keeps nothing; plans are the same.
	Cache *supply.Cache
	// Ledger is what pools have of their limits, if that is more than the snapshot's machines:
	// those that a what-if leaves out count until they are gone. It is only read. Nil is the
	// snapshot's own.
	Ledger *limit.Ledger
	// Unexplained leaves out why pods have no place, for callers that only ask
	// whether they have one, and ask often.
	Unexplained bool

	// only are the types that may be launched; nil is all.
	only func(*catalog.Type) bool
}

// maxTypes is how many instance types the alternatives of a new node name at most; more
// only where the pool's minValues need them. A cloud tries them in turn, so a longer list
// helps when capacity is short, and makes claims larger: an EC2 fleet request takes so
// many without becoming slow.
const maxTypes = 60

const defaultPreference = 0.1

func (o Options) withDefaults() Options {
	if o.Preference == 0 {
		o.Preference = defaultPreference
	}
	o.Preference = max(o.Preference, 0)
	if o.Cache == nil {
		o.Cache = &supply.Cache{}
	}
	return o
}
