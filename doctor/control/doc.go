// Package control examines what the control plane of a cluster runs and serves, for package
// doctor: the definitions of custom resources, the clocks of nodes against its own,
// kube-scheduler's configuration, and the metrics that it and Prometheus get.
package control
