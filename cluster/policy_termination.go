package cluster

import (
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
	return out
}
