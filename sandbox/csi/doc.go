// Package csi plays a storage driver and the cloud behind it.
//
//	setup.go     the driver's CSIDriver object and a default StorageClass
//	plugins.go   on which nodes the driver's node plugin runs
//	register.go  the driver in each node's CSINode
//	provision.go claims become volumes in the zone of the node they are for
//	reclaim.go   released volumes are deleted
//	attach.go    VolumeAttachments are carried out, one node per volume
//	ledger.go    which attachment holds which volume
//	cloud.go     the cloud's own books: what it has attached to which machine
//	books.go     the books of the simulated cloud of cloud/kwok
//
// Binding claims, deciding what to attach where and when to detach it, and the
// multi-attach error of pods are Kubernetes' own controllers; this package does
// only what the sidecars of a driver and its cloud do. How long that takes and
// how it fails is set with knobs.
//
// The driver is there by itself unless a DaemonSet says that it plays the node
// plugin: a label sandbox.millwright.dev/csi-driver=<driver> on the DaemonSet's
// pods. From then on registering, mounting and unmounting on a node need such a
// pod Running there.
package csi
