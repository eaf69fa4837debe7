// Package cluster compares whole controllers: Karpenter's KWOK controller, built from its
// module, and Millwright take turns in one sandbox, a real control plane with simulated
// machines.
//
//	Run ─► sandbox ─► for each contestant: start, phases, stop ─► []Result ─► Report
//
// Both get the same catalogue (KWOK's), the same NodePool, the same launch delay and the same
// Deployments. A phase changes the Deployments, waits for its goal, then until the fleet has
// been at rest for a while. What is measured is read from outside: pods and Nodes by watches,
// requests from the metrics of the controller's own client (watches and leases included), CPU time and memory from the operating system.
//
// The phase "again", which is not played by default, is the burst on the machines that it left:
// what the control plane and the kubelets need however fast a controller is.
//
// A phase that does not reach its goal in time ends the turn; its row and those of the phases
// that were left out say so.
package cluster
