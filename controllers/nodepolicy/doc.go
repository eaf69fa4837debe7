// Package nodepolicy keeps the status of NodePolicies up to date: which pools
// each selects, which of its sections are in force there, who overrides the others,
// and which fields mean nothing although the API server has admitted them.
//
// The rule is that of engine/policy. Policies overrule each other, so that a
// change of one policy, or of one pool's labels, may change what others say:
// every policy is looked at whenever any policy or pool changes.
package nodepolicy
