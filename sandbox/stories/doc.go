// Package stories plays failures that are decided long before they happen, by a toleration in a
// chart, a taint in Terraform or a budget: in a sandbox, with the checks of millwright doctor
// and the fixes that it generates.
//
//	manifests ──► doctor names the failure ──► it happens ──► the fix is applied ──► it holds
//
// A story (one file each, with its manifests in testdata) says how the failure is brought about
// and how one sees that it no longer happens; Play does the rest and fails where the story does
// not go as told. It reaches the cluster as a user does: by manifests, evictions and the command
// line.
package stories
