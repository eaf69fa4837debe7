// Package cli is the command line as a library: every command of the millwright
// binary, on streams that the caller gives.
//
//	cli.go        New, Main: the root command, exit codes
//	run.go        millwright run: the controller; flags and environment
//	plan.go       millwright plan: what would be launched, without a cluster
//	verify.go     millwright verify: wait until machines are ready for work
//	why.go        millwright why: what a machine waits for
//	policy.go     millwright policy test: what would be done about an interruption
//	events.go     millwright events: what the cloud has announced, and what is done
//	version.go    millwright version
//	catalogue.go  --instance-types
//	color.go      when to colour, and what
//	manifest/     files to objects, strictly
//	admission/    what an API server would do to them on their way in
//	workload/     workloads to the pods that they would have
//
// Conventions are kubectl's. Data goes to standard output, everything that is
// said about it to standard error. Exit status 0 is success, 1 means that the
// command has something to object to (plan: a pod that cannot be placed), 2 that
// it could not do its work: wrong usage, bad input, an error. JSON and YAML
// documents carry apiVersion and kind, and the same input gives the same bytes.
package cli
