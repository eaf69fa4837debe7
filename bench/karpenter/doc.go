// Package karpenter drives Karpenter's scheduler as a library, the way its own
// provisioner does between reading the cluster and creating node claims.
//
// Timed for every solve: the cluster state, the topology, the scheduler (with
// its templates, DaemonSet groups and requirement sets), the solve itself and
// the final ordering of each claim's instance types by price. Not timed: the
// conversion of the catalogue, which its cloud provider caches between passes.
//
// Its options are its own defaults: one worker (its CPU request of one core),
// preferences respected, reserved capacity on. Its API client is an empty fake:
// there are no pods, nodes or namespaces in the cluster.
package karpenter
