// Package instancetype says what a Node of an EC2 instance type will be under an
// EC2NodeClass: its capacity and allocatable, its labels, and the offerings in which the
// type can be bought.
//
//	Info (facts of EC2) × Class (the EC2NodeClass) × Supply (zones, prices) ──► catalog.Type
//
// [Resolve] is a pure function. It calls no AWS: package api fills in an [Info] from
// DescribeInstanceTypes, and [FromTable] one from the table of package cloud/ec2, so that
// a plan without credentials counts the same.
//
// The figures are those of Karpenter's AWS provider:
//
//	pods         (interfaces of the default card − reserved) × (addresses − 1) + 2
//	memory       (size − 64 MiB on arm64) less the hypervisor's share
//	overhead     kube-reserved + system-reserved + hard eviction thresholds
//	allocatable  capacity − overhead
//
// Prefix delegation is not part of them: with it, spec.kubelet.maxPods says the number.
// Huge pages are never capacity, because nothing in an EC2NodeClass reserves them.
package instancetype
