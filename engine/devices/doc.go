// Package devices makes the devices of dynamic resource allocation countable: [Counter.Count]
// reads which devices nodes and instance types have and which ones pods claim, and turns both
// into amounts of resources, so that everything that plans with resources plans with devices.
//
//	objects.go    what a cluster says: classes, claims, their templates, slices
//	request.go    what a claim asks for, and what of that cannot be counted
//	dimension.go  which resources are needed to count devices that several requests select
//	count.go      a snapshot with these resources
//	hosts.go      what nodes and instance types have of them
//
// Which devices a node that does not exist yet will have is learned from the nodes of its
// instance type that do, driver by driver, else told by the cloud.
//
// What counts is a device of a complete pool of one node that one claim can have as a whole. Not
// counted are devices that share counters with others, those that carry a taint, and those that
// several nodes can reach. Claims with constraints over several devices, for all devices of a
// node, for a part of a device's capacity or with alternatives are refused with the reason.
package devices
