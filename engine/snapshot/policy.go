package snapshot

// Policy is what NodePolicies decide about the machines of one pool. Its zero
// value holds where no policy does.
type Policy struct {
	Initialization Initialization
	Termination    Termination
	Disruption     DisruptionPolicy
	Interruption   Interruption
	Repair         Repair
}
