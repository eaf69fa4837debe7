// Package controllers is Millwright in a cluster: thin loops that read the
// cluster's state, ask the engine, and apply the answer.
//
//	cluster.Store ◄── watches          lifecycle    claim → machine → node
//	     │                             termination  node → drained → gone
//	     ▼                             gc           what was left behind
//	  Snapshot ──► engine ──► loop     provision    pending pods → claims
//	                           │       disruption   machines that are not needed
//	                           ▼       nodepool     status of pools
//	                     apply.Writer ──► Kubernetes
//
// [Run] wires it and blocks; [Config] says with what. Package loop holds what all
// loops are given, apply is the only writer, metrics are Karpenter's series.
//
// One replica leads and runs the loops; the others keep their caches warm. No
// loop keeps state that the cluster does not hold: a replica that is killed is
// replaced by another that continues.
package controllers
