// Package controlplane runs a real Kubernetes control plane in this process:
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, all of the
// version this module is built with, as plain goroutines.
//
//	plane, err := controlplane.Start(ctx, controlplane.Config{Dir: dir})
//	cfg := plane.RESTConfig(pki.Admin)
//	...
//	plane.Stop()
//
// Each part has its own file, which holds the flags it runs with and the
// reasons for them: etcd.go, apiserver.go, controllers.go, scheduler.go. One
// controller, pod garbage collection, runs on its own (podgc.go) because its
// period is not a flag. component.go is the small machinery that starts,
// watches and stops them.
//
// Everything listens on random loopback ports and writes below Config.Dir, so
// any number of processes run side by side. Kubernetes keeps process-wide
// registries, therefore one process runs one control plane at a time.
//
// The API server wants a token and enforces RBAC. Its etcd does neither: every
// user of this machine can reach it. Nothing of value belongs in a sandbox.
package controlplane
