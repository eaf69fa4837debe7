// Package ec2test plays EC2: instance types, networks, images, launch templates, fleets
// and instances, without a machine behind them.
//
//	e := ec2test.New(ec2test.Config{Clock: clock, Network: …})
//	answer, err := e.Handle(request) // a call that package wire has read
//
// Package awstest serves it over HTTP, together with the other services.
//
// # What happens when
//
// Nothing runs by itself. An instance is a list of states with times, and what is read
// follows from the list and the clock: pending, running after [Delays].Boot; shutting-down,
// terminated after [Delays].Shutdown, and forgotten an hour later. Everything that
// looks random, IDs as well, is a function of the seed and of the calls before.
//
// # Capacity
//
// An offering, type/zone/capacityType, holds any number of instances until
// [EC2.SetCapacity] says otherwise. A fleet tries offerings in the order of its
// allocation strategy, takes what it gets, and names the others as errors, each with the
// override that was tried. Spot prices are made up, 30 to 65 % of the on-demand price; so is
// how deep a spot pool is, which price-capacity-optimized asks for.
package ec2test
