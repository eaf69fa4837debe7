package cloud

import "github.com/millwright-dev/millwright/engine/snapshot"

// RepairPolicy says for how long a condition of a Node is tolerated that means that
// its machine is broken. Its action is up to the caller.
type RepairPolicy = snapshot.RepairCondition

// Repairer is a provider that knows which conditions of Nodes mean that a machine
// is broken, as Karpenter's RepairPolicies. It is found by assertion.
type Repairer interface {
	// RepairPolicies lists them. It is called often and must answer from memory; the
	// result is shared and must not be modified.
	RepairPolicies() []RepairPolicy
}
