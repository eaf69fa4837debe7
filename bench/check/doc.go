// Package check is the judge of plans: is an outcome one that Kubernetes would
// accept? It trusts neither engine: requests, taints, selectors and affinity
// are evaluated with Kubernetes' own libraries on the node that each machine
// would become.
//
// It checks that every machine is an available offering of its pool at the
// catalogue's price; that every pod is on at most one machine, tolerates it and
// selects it; that no machine is overcommitted or has a host port twice; and
// the required topology rules as far as a finished plan shows them (see
// topology.go).
package check
