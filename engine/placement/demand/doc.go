// Package demand compiles the pods that are to be placed: a [Batch] of groups, each
// a shape (which nodes will do, and beside whom) and a need (how much of
// everything).
//
// The rules of Kubernetes that make a shape are listed in one place, rules in
// shape.go: a new rule is a package of its own, an entry there, and a field of
// [Shape].
//
// Groups and shapes come in an order that depends on what they are, never on what
// their pods are called, so that plans do not change with names.
package demand
