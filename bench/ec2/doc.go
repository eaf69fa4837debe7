// Package ec2 compares whole controllers on an emulated AWS: Karpenter's controller for AWS,
// unmodified and built from its module, and Millwright.
//
//	Run ─► for each scenario and contestant: a sandbox of its own ─► start, play, measure ─► []Measure ─► Report
//	HandOver ─► one sandbox: Karpenter, Millwright, Karpenter again ─► []Act ─► ReportHandover
//
// Both get the classes and pools of examples/aws and the workloads of examples/workloads.
// What is measured is read from outside: pods and Nodes by watches, instances, their prices
// and the calls by what the emulator has on record. Calls of the volume driver do not count.
//
// A scenario that does not reach its goal in time has a row that says so.
package ec2
