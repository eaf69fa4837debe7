// Package provision turns pending pods into claims.
//
//	pod events ─► window ─► pass: Store ─► placement.Solve ─► NodeClaims, events, nominations
//
// Pods trigger a [window], which opens at the first trigger and closes when no new pod
// has come for a while, so that pods that belong together are planned together.
// A pass plans all pending pods, and those of machines that are going, on one
// snapshot, and writes one NodeClaim for every machine of the plan. As long as pods
// are pending another pass follows after ten seconds, so that nothing is ever
// forgotten.
//
// A claim is in the store before its creation returns, and a snapshot shows it
// as the machine that it will be; a pass therefore neither waits for launches
// nor plans a machine twice. The name of a claim is chosen before it is created:
// when the answer to a creation is lost, the next pass first asks whether there is
// a claim of that name, however far the watch of claims lags behind.
package provision
