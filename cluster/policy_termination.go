package cluster

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// termination translates the section.
func termination(in *v1alpha1.Termination) snapshot.Termination {
	out := snapshot.Termination{
		MaxParallelEvictions: int(in.MaxParallelEvictions),
		UnmountTimeout:       duration(in.UnmountTimeout),
		DetachTimeout:        duration(in.DetachTimeout),
		TerminateStuck:       in.OnStuckVolumes == v1alpha1.StuckTerminate,
		NoOutOfService:       in.OutOfService == v1alpha1.OutOfServiceNever,
		ReleaseTimeout:       duration(in.ReleaseTimeout),
		DeleteOrphans:        in.OrphanedAttachments == v1alpha1.OrphansDelete,
	}
	for _, d := range in.Agents {
		out.Agents = append(out.Agents, snapshot.DaemonSetSelector{Namespace: d.Namespace, Name: d.Name, Labels: selector(d.Selector)})
	}
	for i := range in.Hooks {
		out.Hooks = append(out.Hooks, hook(&in.Hooks[i]))
	}
	return out
}

func hook(in *v1alpha1.TerminationHook) snapshot.Hook {
	out := snapshot.Hook{
		Name: in.Name, Before: snapshot.HookPoint(in.Before),
		Timeout: cmp.Or(duration(in.Timeout), snapshot.DefaultHookTimeout), FailClosed: in.OnTimeout == v1alpha1.HookWait,
	}
	switch {
	case in.Annotation != nil:
		out.Annotation, out.Value = in.Annotation.Key, in.Annotation.Value
	case in.Condition != nil:
		out.Condition = corev1.NodeConditionType(in.Condition.Type)
		out.Status = cmp.Or(corev1.ConditionStatus(in.Condition.Status), corev1.ConditionTrue)
	case in.Job != nil:
		out.JobNamespace = in.Job.Namespace
	case in.Elapsed != nil:
		out.Elapsed = in.Elapsed.Duration
	}
	return out
}
