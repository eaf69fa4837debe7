package interruption

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Default is what is done about a kind where no rule matches: Karpenter's table.
func Default(k Kind) snapshot.InterruptionAction {
	switch k {
	case Spot, Reservation, Maintenance, Stopped, Terminated:
		return snapshot.InterruptionDrain
	case InstanceImpaired, SystemImpaired:
		return snapshot.InterruptionTerminate
	case Rebalance, ZoneImpaired:
		return snapshot.InterruptionNotify
	}
	return snapshot.InterruptionIgnore
}

// strength orders actions from the mildest.
func strength(a snapshot.InterruptionAction) int {
	return slices.Index([]snapshot.InterruptionAction{
		snapshot.InterruptionIgnore, snapshot.InterruptionNotify, snapshot.InterruptionCordon,
		snapshot.InterruptionReplace, snapshot.InterruptionDrain, snapshot.InterruptionTerminate,
	}, a)
}

// ruleFor finds the rule that decides about an event on a machine, and its place
// among the policy's from one; zero is the table.
func ruleFor(p *snapshot.Pool, n *snapshot.Node, e *Event) (snapshot.InterruptionRule, int) {
	if p != nil {
		for i := range p.Policy.Interruption.Rules {
			if r := &p.Policy.Interruption.Rules[i]; matches(r, n, e) {
				return *r, i + 1
			}
		}
	}
	return snapshot.InterruptionRule{Action: Default(e.Kind)}, 0
}

func matches(r *snapshot.InterruptionRule, n *snapshot.Node, e *Event) bool {
	if !slices.Contains(r.Events, string(e.Kind)) {
		return false
	}
	if len(r.Codes) > 0 && !slices.Contains(r.Codes, string(e.Code)) {
		return false
	}
	return r.Pods == nil || slices.ContainsFunc(n.Pods, func(p *snapshot.Pod) bool {
		return p.Active() && r.Pods.Matches(labels.Set(p.Labels))
	})
}
