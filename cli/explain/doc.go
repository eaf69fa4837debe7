// Package explain says in a few lines, or as a document, why a pod waits, why a
// machine is not ready, stays or goes, and what holds for the machines of a pool,
// each with what would have to change.
//
// An [Answer] is both: Text is for people, its JSON for programs. It is made from
// what the engine decides about a cluster's objects, never from what a controller
// remembers.
package explain
