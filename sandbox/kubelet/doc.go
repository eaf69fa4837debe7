// Package kubelet plays the kubelet of every Node in the cluster.
//
// A Node that appears is a machine that boots: it gets a heartbeat, addresses,
// node info and, after a while, the condition Ready. Its labels,
// taints and capacity are those with which it was created. Pods bound to it
// go through their life (package life), volumes included. A Node that
// disappears takes its machine along; one of the same name that comes back is
// a new machine.
//
//	kubelet.go    wiring: which event makes which node or pod due
//	node.go       one node: machine, status, lease
//	nodestatus.go what a node reports, a pure function
//	lease.go      heartbeats
//	pod.go        one pod: look, life.Step, write
//	volumes.go    which volumes a pod needs, when they are there
//	inuse.go      which volumes each node has in use
//	addresses.go  IP addresses
//
// Nothing polls: two work queues are fed by watches, timers and changed knobs.
// All memory is in this process, so a restart of the sandbox is a power cut:
// machines boot again and containers start again. What a kubelet itself would
// refuse (no room, wrong node) is not checked: the scheduler does.
package kubelet
