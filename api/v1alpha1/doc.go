// Package v1alpha1 is the first version of Millwright's own kinds, in the group
// millwright.dev.
//
// There is one, [NodePolicy]: what a team decides about its machines that
// Karpenter's NodePool has no field for. Each section of it is one file:
//
//	nodepolicy.go      which pools a policy is for, and what its status shows
//	initialization.go  when a new machine is ready for work, and what happens if
//	                   it never is
//	termination.go     how a machine is taken away, and its volumes
//
// Comments on fields are what `kubectl explain nodepolicy` prints.
//
// +kubebuilder:object:generate=true
// +groupName=millwright.dev
package v1alpha1
