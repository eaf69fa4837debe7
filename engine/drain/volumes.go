package drain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// shownAttachments is how many attachments a message names.
const shownAttachments = 5

// volumes waits for the attachments of pods that left; its phase is Detach until
// that is over.
func volumes(v View) Step {
	s := Step{Phase: Detach, Wake: v.Now.Add(recheck)}
	s.by(v.Deadline)
	stay := stayingVolumes(v)
	late := !v.Deadline.IsZero() && !v.Now.Before(v.Deadline)
	var blocking []string
	for _, a := range v.Attachments {
		verdict := attachment(a, stay)
		if verdict.Waits {
			blocking = append(blocking, a.Name)
			verdict.Waits = !late
		}
		s.Volumes = append(s.Volumes, verdict)
	}
	c := plan.Condition{Type: snapshot.VolumesDetached, Status: corev1.ConditionTrue, Reason: snapshot.VolumesDetached}
	switch {
	case len(blocking) == 0:
		s.Phase = Terminate
	case late:
		s.Phase = Terminate
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "TerminationGracePeriodElapsed", list(blocking)+" left behind"
	default:
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "AwaitingVolumeDetachment", "waiting for "+list(blocking)
	}
	s.Conditions = []plan.Condition{c}
	return s
}

func attachment(a *storagev1.VolumeAttachment, stay map[string]bool) Verdict {
	r := plan.Reason{
		Code:    plan.VolumeIgnored,
		Objects: []plan.ObjectRef{{Kind: "VolumeAttachment", Name: a.Name}},
		Since:   a.CreationTimestamp.Time,
	}
	if a.DeletionTimestamp != nil {
		r.Since = a.DeletionTimestamp.Time
	}
	pv := a.Spec.Source.PersistentVolumeName
	if pv == nil {
		r.Have = "it is not of a PersistentVolume"
		return Verdict{r, false}
	}
	r.Objects = append(r.Objects, plan.ObjectRef{Kind: "PersistentVolume", Name: *pv})
	if stay[*pv] {
		r.Have = "a pod that is not waited for uses it"
		return Verdict{r, false}
	}
	r.Code = plan.VolumeAttached
	return Verdict{r, true}
}

// stayingVolumes are those of pods that are not drained.
func stayingVolumes(v View) map[string]bool {
	out := map[string]bool{}
	for _, p := range v.Node.Pods {
		if eviction.Terminal(p.Pod) || drainable(p.Pod, v.Now) {
			continue
		}
		for i := range p.Spec.Volumes {
			if pvc, ok := v.Volumes.Claims[claimOf(p.Pod, &p.Spec.Volumes[i])]; ok && pvc.Spec.VolumeName != "" {
				out[pvc.Spec.VolumeName] = true
			}
		}
	}
	return out
}

// claimOf names the PersistentVolumeClaim behind a pod's volume; zero if there is
// none.
func claimOf(p *corev1.Pod, volume *corev1.Volume) types.NamespacedName {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return types.NamespacedName{Namespace: p.Namespace, Name: volume.PersistentVolumeClaim.ClaimName}
	case volume.Ephemeral != nil:
		return types.NamespacedName{Namespace: p.Namespace, Name: p.Name + "-" + volume.Name}
	}
	return types.NamespacedName{}
}

func list(names []string) string {
	if more := len(names) - shownAttachments; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shownAttachments], ", "), more)
	}
	return strings.Join(names, ", ")
}
