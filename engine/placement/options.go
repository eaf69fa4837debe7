package placement

// Options bound what Solve does. The zero value is the default.
type Options struct {
	// MaxTypes is how many instance types the alternatives of a new node name at
	// most; more only where the pool's minValues need them. A cloud tries them in
	// turn, so a longer list helps when capacity is short, and makes claims
	// larger. Zero is 60, which is what an EC2 fleet request takes without
	// becoming slow; the least is 1.
	MaxTypes int
	// Work is how long the search for a lower price goes on, in steps of about a
	// hundredth of a microsecond; a plan is found whatever the value. The same work
	// gives the same plan on every machine. Zero is 5,000,000; negative stops at
	// the first plan.
	Work int
}

const (
	defaultMaxTypes = 60
	defaultWork     = 5_000_000
)

func (o Options) withDefaults() Options {
	if o.MaxTypes <= 0 {
		o.MaxTypes = defaultMaxTypes
	}
	if o.Work == 0 {
		o.Work = defaultWork
	}
	return o
}
