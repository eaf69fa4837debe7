// Package policy decides which NodePolicy rules which section of which pool.
//
//	policies, pools ──► Resolve ──► Rule (pool, section, policy in force, overridden)
//
// The rule: of the policies that select the pool and have the section, the one
// with the highest priority is in force, and of equal ones the first by name. A
// section is taken as a whole; sections of one pool may come from different
// policies.
package policy
