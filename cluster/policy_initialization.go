package cluster

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// initialization translates the section.
func initialization(in *v1alpha1.Initialization) snapshot.Initialization {
	out := snapshot.Initialization{
		LaunchTimeout:       duration(in.LaunchTimeout),
		RegistrationTimeout: duration(in.RegistrationTimeout),
		Timeout:             timeout(in.Timeout),
		OnTimeout:           snapshot.Consequence(in.OnTimeout),
		CSIDrivers:          in.CSIDrivers,
		IgnoreTaints:        in.UndeclaredTaints == v1alpha1.IgnoreTaints,
		Taint:               in.UntilInitialized == v1alpha1.TaintNode,
		PlannedFirst:        in.FirstPods == v1alpha1.PlannedPods,
	}
	if stale := in.StaleUninitialized; stale != nil {
		out.StaleGrace, out.OnStale = duration(stale.Grace), snapshot.StaleAction(stale.Action)
	}
	if b := in.Backoff; b != nil {
		out.Backoff = snapshot.Backoff{Failures: int(b.Failures), Initial: duration(b.Initial), Max: duration(b.Max)}
	}
	for _, d := range in.ReadyDaemonSets {
		out.DaemonSets = append(out.DaemonSets, snapshot.DaemonSetSelector{Namespace: d.Namespace, Name: d.Name, Labels: selector(d.Selector)})
	}
	for _, c := range in.NodeConditions {
		out.Conditions = append(out.Conditions, snapshot.NodeCondition{Type: corev1.NodeConditionType(c.Type), Status: cmp.Or(corev1.ConditionStatus(c.Status), corev1.ConditionTrue)})
	}
	return out
}

// duration is zero for one that is not set.
func duration(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// timeout reads a duration or Never; what the API server would refuse is not set.
func timeout(s string) time.Duration {
	if s == "Never" {
		return snapshot.Never
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0
	}
	return d
}
