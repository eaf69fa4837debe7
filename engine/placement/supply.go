package placement

// supply is where the pods of a batch could go: machines that exist or are on
// their way, and those that could be launched. It is not safe for concurrent use.
type supply struct {
	*batch
	daemons  []*daemon
	machines *machines
	market   *market
}

func newSupply(b *batch) *supply {
	s := &supply{batch: b}
	for _, d := range b.snap.DaemonSets {
		s.daemons = append(s.daemons, s.newDaemon(d))
	}
	s.machines = s.newMachines()
	s.market = s.newMarket()
	// Only now are all ports known.
	b.setClashes()
	return s
}
