// Package metrics holds the time series that Millwright exports, under
// Karpenter's stable names and labels, so that dashboards and alerts stay.
//
// [New] makes the series and registers them with the registry that it is given;
// nothing is registered by importing the package. Loops report what happened
// through the methods of [Metrics], one per event, which all accept a nil
// receiver: code under test needs no registry.
//
// What can be read off the cluster's state at any time is not counted but
// collected when it is asked for: see package state below this one.
//
// [Wrap] measures the calls to a cloud provider.
package metrics
