// Package state exports what can be read off the cluster's state at any time:
// nodes, pools, pods and what the store knows, under Karpenter's names.
//
// A [Collector] reads the state when it is scraped. Nothing is polled in
// between, and no series outlives its object.
//
// [Add] times pods from creation to binding and readiness, which can only
// be told while it happens.
package state
