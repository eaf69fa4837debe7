// Package catalog holds what a cloud can launch, as plain values: instance
// types, their offerings and prices.
//
// A cloud provider fills it; placement, consolidation and the launch of a claim
// read it. [Rank] is the one place that decides which machine a claim should
// become: among the offerings that satisfy the claim's requirements and hold
// its requests, the cheapest first.
//
// Values are immutable once built and safe to share between goroutines and
// snapshots.
package catalog
