// Package supply compiles where pods could go: [Machines] that exist or are on
// their way, with what they have left, and the [Offerings] of machines that could be
// launched, each way to launch one being a [Launch]: a type of a pool bought
// through an offering. What DaemonSets will take is taken off everywhere.
package supply
