// Package plan holds the engine's output words: what to launch, where pods will
// go, what cannot be placed, and the reasons for everything that is not done.
//
// A [Reason] is the one value behind every "no": events, conditions, metrics and
// the command line print the same reason. Its text is made by [Reason.Message],
// once, at the edge; code never reads text.
//
// A [Plan] prints itself, as a table for people and as a versioned JSON document
// for programs, and equal plans print equal bytes.
package plan
