package cluster

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// repair translates the section.
func repair(in *v1alpha1.Repair) snapshot.Repair {
	out := snapshot.Repair{
		On:             true,
		Action:         snapshot.RepairAction(in.Action),
		Budget:         in.Budget,
		MinHealthy:     int(in.MinHealthy),
		ReplaceTimeout: duration(in.ReplaceTimeout),
		DrainTimeout:   duration(in.DrainTimeout),
	}
	for _, c := range in.Conditions {
		out.Conditions = append(out.Conditions, snapshot.RepairCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
			Toleration: durationOr(c.Toleration, snapshot.DefaultConditionToleration), Action: snapshot.RepairAction(c.Action),
		})
	}
	for _, a := range in.Agents {
		out.Agents = append(out.Agents, snapshot.RepairAgent{
			DaemonSetSelector: snapshot.DaemonSetSelector{Namespace: a.Namespace, Name: a.Name, Labels: selector(a.Selector)},
			Restarts:          cmp.Or(int(a.Restarts), snapshot.DefaultAgentRestarts),
			Toleration:        durationOr(a.Toleration, snapshot.DefaultAgentToleration), Action: snapshot.RepairAction(a.Action),
		})
	}
	if b := in.Breaker; b != nil {
		out.MaxUnhealthy, out.CorrelatedNodes, out.CorrelatedPercent = b.MaxUnhealthy, int(b.CorrelatedNodes), int(b.CorrelatedPercent)
	}
	return out
}

// durationOr is a default for one that is not set; zero is a duration.
func durationOr(d *metav1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return d.Duration
}
