// Package aws gives a sandbox its cloud: an AWS on a loopback address whose instances boot
// and join the cluster.
//
//	server.go     the emulator (cloud/aws/awstest) behind one address, and what to export
//	control.go    the requests by which "sandbox inject aws" scripts it
//	client.go     who makes these requests
//	booter.go     instances become Nodes by their user data, and dead ones are taken away
//	volumes.go    the volume driver's calls of EC2
//
// What happens to a Node follows a real EKS cluster. A kubelet registers once for each boot.
// Its cloud controller manager sets zone, region and instance type when it takes off its
// taint; it deletes the Node of an instance that is terminated as soon as the Node is not
// Ready any more, which is when the node controller has missed its heartbeats; and it taints
// that of a stopped one with node.cloudprovider.kubernetes.io/shutdown until it runs again. An instance whose user
// data its image refuses runs and never joins: its console says why.
package aws
