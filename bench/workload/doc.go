// Package workload is the registry of the suite: each entry is a name, a
// catalogue limit, and functions that make pods and pools from a seed. A new
// workload is one entry in registry.go.
//
// The same seed gives the same pods, UIDs included.
package workload
