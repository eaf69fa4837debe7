// Package v1alpha1 is the first version of Millwright's own kinds, in the group
// millwright.dev.
//
// [NodePolicy] is what a team decides about its machines that Karpenter's NodePool
// has no field for. [DisruptionRequest] asks people for leave where a policy says
// so. Each section of a policy is one file:
//
//	nodepolicy.go      which pools a policy is for, and what its status shows
//	initialization.go  when a new machine is ready for work, and what happens if
//	                   it never is
//	termination.go     how a machine is taken away, and its volumes
//	disruption.go      when machines may be disrupted voluntarily
//	interruption.go    what is done about what the cloud announces
//
// Comments on fields are what `kubectl explain nodepolicy` prints.
//
// +kubebuilder:object:generate=true
// +groupName=millwright.dev
package v1alpha1
