// Package checkup says on NodePools, while the cluster runs, what millwright doctor would find of
// them that is serious:
//
//	informers' cache ──► doctor.Inventory ──► doctor.Examine ──► condition Misconfigured, metric
//
// Only what is watched anyway is looked at: NodePools, NodePolicies, DaemonSets, Nodes, budgets and
// storage classes. The whole examination, with the fixes, is the command's.
package checkup
