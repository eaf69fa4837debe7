// Package enginetest is what tests of the engine share: made-up clouds and
// workloads, a language for scenarios, random worlds, and the invariants that
// every plan keeps.
//
// Nothing here is random without a seed.
package enginetest
