package snapshot

import (
	"cmp"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Defaults of a [Repair]. MaxUnhealthy is Karpenter's, which has no others.
const (
	DefaultMaxUnhealthy        = "20%"
	DefaultConditionToleration = 30 * time.Minute
	DefaultAgentToleration     = 15 * time.Minute
	DefaultAgentRestarts       = 3
	DefaultReplaceTimeout      = 15 * time.Minute
	DefaultRepairDrainTimeout  = 5 * time.Minute
	DefaultCorrelatedNodes     = 3
	DefaultCorrelatedPercent   = 50
)

// Repair says what is done about machines that are broken. The zero value of a
// field is its default.
type Repair struct {
	// On is true if a policy has the section. Without it the pool's machines are
	// repaired only behind Karpenter's feature gate, and without a look at what
	// failures have in common.
	On bool
	// Conditions are asked in order; where none matches, the provider's hold.
	Conditions []RepairCondition
	// Agents are DaemonSets whose pods must not crash again and again.
	Agents []RepairAgent
	// Action is that of rules that do not say.
	Action RepairAction
	// Budget is how many machines of the pool may be under repair, a number or a
	// percentage; empty is all.
	Budget string
	// MinHealthy is how many machines must be healthy for one to be terminated.
	MinHealthy int
	// ReplaceTimeout counts from the request for a replacement, DrainTimeout from the
	// deletion of the claim.
	ReplaceTimeout, DrainTimeout time.Duration
	// MaxUnhealthy is how many machines of the pool may be broken, a number or a
	// percentage.
	MaxUnhealthy string
	// CorrelatedNodes and more than CorrelatedPercent of the machines of a zone, an
	// image or with a condition are broken for a reason that they share.
	CorrelatedNodes, CorrelatedPercent int
}

// RepairCondition says when a condition of a Node means that its machine is broken.
type RepairCondition struct {
	Type   corev1.NodeConditionType
	Status corev1.ConditionStatus
	// Reason matches the condition's; nil is any.
	Reason     *regexp.Regexp
	Toleration time.Duration
	Action     RepairAction
}

// RepairAgent says when a DaemonSet's pod that crashes means so.
type RepairAgent struct {
	DaemonSetSelector
	Restarts   int
	Toleration time.Duration
	Action     RepairAction
}

// RepairAction is what is done about a broken machine.
type RepairAction string

// The actions, from the mildest; empty is RepairTerminate.
const (
	RepairIgnore    RepairAction = "Ignore"
	RepairAlert     RepairAction = "Alert"
	RepairReboot    RepairAction = "Reboot" // only of a provider's rules
	RepairReplace   RepairAction = "Replace"
	RepairTerminate RepairAction = "Terminate"
)

// Defaulted has every field set that has a default.
func (r Repair) Defaulted() Repair {
	r.Action = cmp.Or(r.Action, RepairTerminate)
	r.Budget = cmp.Or(r.Budget, "100%")
	r.ReplaceTimeout = cmp.Or(r.ReplaceTimeout, DefaultReplaceTimeout)
	r.DrainTimeout = cmp.Or(r.DrainTimeout, DefaultRepairDrainTimeout)
	r.MaxUnhealthy = cmp.Or(r.MaxUnhealthy, DefaultMaxUnhealthy)
	r.CorrelatedNodes = cmp.Or(r.CorrelatedNodes, DefaultCorrelatedNodes)
	r.CorrelatedPercent = cmp.Or(r.CorrelatedPercent, DefaultCorrelatedPercent)
	return r
}
