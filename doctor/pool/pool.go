// Package pool examines what NodePools say by themselves, for package doctor: their status, their
// limits, weights, budgets and startup taints, and for how long their nodes live.
package pool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// NotReady are pools that launch nothing, as their status says.
func NotReady(pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		for _, c := range np.Status.Conditions {
			if c.Status != metav1.ConditionFalse || !slices.Contains(needed, c.Type) {
				continue
			}
			out = append(out, finding.Finding{
				Severity: finding.Error, Object: finding.RefOf("NodePool", np), Field: "status.conditions." + c.Type,
				Message: fmt.Sprintf("is False, so that the pool launches nothing: %s: %s", c.Reason, c.Message),
				Advice:  "mend what the condition names; the status of the node class says more",
			})
		}
	}
	return out
}

// needed are the conditions without which a pool launches nothing.
var needed = []string{karpv1.ConditionTypeNodeClassReady, karpv1.ConditionTypeValidationSucceeded}

// AtLimit are pools that have used up what they may launch. A pool of a fixed number of nodes may be
// meant to.
func AtLimit(pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		if np.Spec.Replicas != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(np.Spec.Limits)) {
			limit, used := np.Spec.Limits[name], np.Status.Resources[name]
			if used.IsZero() || used.Cmp(limit) < 0 {
				continue
			}
			out = append(out, finding.Finding{
				Severity: finding.Warning, Object: finding.RefOf("NodePool", np), Field: "spec.limits." + string(name),
				Message: fmt.Sprintf("is %s, and %s are in use: the pool launches nothing more, and no replacement before its node has gone", limit.String(), used.String()),
				Advice:  "raise the limit, or let another pool take the pods",
			})
		}
	}
	return out
}

// ExpiringWhileDraining are pools whose nodes live no longer than the start of one may take, or the
// drain: as long as the pool allows, or else as the pods that may run there, whose longest grace is given.
func ExpiringWhileDraining(pools []*karpv1.NodePool, grace func(*karpv1.NodePool) (time.Duration, plan.ObjectRef)) []finding.Finding {
	var out []finding.Finding
	for _, np := range pools {
		expires := np.Spec.Template.Spec.ExpireAfter.Duration
		if expires == nil {
			continue
		}
		if *expires < snapshot.DefaultLaunchTimeout {
			comes := "a node may take as long to start, so each is replaced about when it is there, without an end"
			if *expires == 0 {
				comes = "every node would be replaced as soon as it is there, so Millwright launches none, and Karpenter replaces them without an end"
			}
			out = append(out, finding.Finding{
				Severity: finding.Error, Object: finding.RefOf("NodePool", np), Field: "spec.template.spec.expireAfter",
				Message: fmt.Sprintf("is %s: %s", Expiry(np), comes),
				Advice:  "Never is for nodes that do not expire; else let them live for several times what a drain may take",
			})
			continue
		}
		drain, of := grace(np)
		by := "terminationGracePeriodSeconds of " + of.String()
		if bound := np.Spec.Template.Spec.TerminationGracePeriod; bound != nil {
			drain, by = bound.Duration, "terminationGracePeriod"
		}
		if drain < *expires {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: finding.RefOf("NodePool", np), Field: "spec.template.spec.expireAfter",
			Message: fmt.Sprintf("is %s, and a drain may take %s (%s): the node that takes the pods of an expired one expires before that has gone, and they are moved again", Expiry(np), drain, by),
			Advice:  "let nodes live for several times what a drain may take",
		})
	}
	return out
}

// Expiry is the age of a pool's nodes at which they expire, as it is written.
func Expiry(np *karpv1.NodePool) string {
	d := np.Spec.Template.Spec.ExpireAfter
	if len(d.Raw) > 0 {
		return strings.Trim(string(d.Raw), `"`)
	}
	return d.Duration.String()
}
