// Package harness runs Millwright against a sandbox the way a cluster would: the
// CRDs and the RBAC of deploy/ are installed, the controller is a child process
// that authenticates as its own ServiceAccount, and manifests are applied from
// files.
//
// The demo and the end-to-end tests are its callers. It knows Millwright only
// from outside, by its binary and its manifests, so that what they see is what
// a user sees.
package harness
