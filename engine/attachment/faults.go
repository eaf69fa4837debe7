package attachment

import (
	"cmp"
	"maps"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Timeout is how long attaching or detaching may take before it counts as a
// fault.
const Timeout = snapshot.DefaultDetachTimeout

// Fault is an attachment that something is wrong with.
type Fault struct {
	plan.Reason
	Attachment *storagev1.VolumeAttachment
}

// Orphaned reports whether the attachment's node is gone: nothing is mounted there
// any more.
func (f Fault) Orphaned() bool { return f.Code == plan.AttachmentNodeGone }

// Faults are all of them, by node and name.
func Faults(s *snapshot.Snapshot) []Fault {
	w := world{s, map[string]bool{}, map[string]bool{}}
	for _, n := range s.Nodes {
		if n.Object != nil {
			w.nodes[n.Object.Name] = true
		}
	}
	for _, csi := range s.Volumes.CSINodes {
		for _, d := range csi.Spec.Drivers {
			w.drivers[d.Name] = true
		}
	}
	var out []Fault
	for _, node := range slices.Sorted(maps.Keys(s.Volumes.Attachments)) {
		for _, a := range s.Volumes.Attachments[node] {
			if r, ok := w.fault(a); ok {
				out = append(out, Fault{r, a})
			}
		}
	}
	return out
}

// world is what attachments depend on; drivers are those that some node has.
type world struct {
	*snapshot.Snapshot
	nodes, drivers map[string]bool
}

func (w world) fault(a *storagev1.VolumeAttachment) (plan.Reason, bool) {
	r := plan.Reason{Objects: w.objects(a), Since: a.CreationTimestamp.Time}
	detaching := a.DeletionTimestamp != nil
	if detaching {
		r.Since = a.DeletionTimestamp.Time
	}
	pv := a.Spec.Source.PersistentVolumeName
	slow := !w.Now.Before(r.Since.Add(Timeout))
	failed := failure(a, detaching)
	switch {
	case !w.nodes[a.Spec.NodeName] && (slow || !detaching):
		r.Code = plan.AttachmentNodeGone
	case !w.drivers[a.Spec.Attacher] && slow:
		r.Code, r.Want = plan.AttachmentDriverGone, a.Spec.Attacher
	case pv != nil && w.Volumes.Volumes[*pv] == nil && slow:
		r.Code = plan.AttachmentVolumeGone
	case slow && (failed != "" || detaching || !a.Status.Attached):
		r.Code, r.Want, r.Have = plan.AttachmentSlow, doing(detaching), failed
	default:
		return plan.Reason{}, false
	}
	return r, true
}

func doing(detaching bool) string {
	if detaching {
		return "detached"
	}
	return "attached"
}

// failure is what the driver last said about the step that is under way.
func failure(a *storagev1.VolumeAttachment, detaching bool) string {
	e := a.Status.AttachError
	if detaching {
		e = a.Status.DetachError
	}
	if e == nil {
		return ""
	}
	return e.Message
}

// objects are the attachment, its node, and as far as they are known its volume
// and the volume's claim.
func (w world) objects(a *storagev1.VolumeAttachment) []plan.ObjectRef {
	out := []plan.ObjectRef{{Kind: "VolumeAttachment", Name: a.Name}, plan.NodeRef(a.Spec.NodeName)}
	name := a.Spec.Source.PersistentVolumeName
	if name == nil {
		return out
	}
	out = append(out, plan.ObjectRef{Kind: "PersistentVolume", Name: *name})
	if pv := w.Volumes.Volumes[*name]; pv != nil && pv.Spec.ClaimRef != nil {
		out = append(out, plan.ObjectRef{Kind: "PersistentVolumeClaim", Namespace: pv.Spec.ClaimRef.Namespace, Name: pv.Spec.ClaimRef.Name})
	}
	return out
}

// abandonment is after how long an orphan is no longer left to Kubernetes.
const abandonment = 6 * time.Minute

// Deletable are the orphans, by name, that Kubernetes will not deal with any
// more and that may be deleted because the policy of some pool asks for it: the pool of
// an orphan cannot be told, as its Node is gone. seen is since when each has been
// found orphaned.
func Deletable(s *snapshot.Snapshot, faults []Fault, seen map[string]time.Time) []Fault {
	if !slices.ContainsFunc(s.Pools, func(p *snapshot.Pool) bool { return p.Policy.Termination.DeleteOrphans }) {
		return nil
	}
	out := Abandoned(faults, seen, s.Now.Add(-abandonment))
	slices.SortFunc(out, func(a, b Fault) int { return cmp.Compare(a.Attachment.Name, b.Attachment.Name) })
	return out
}

// Abandoned are the orphans that have been so since before a time: Kubernetes
// gives a volume up that is not unmounted after six minutes, and has not.
func Abandoned(faults []Fault, seen map[string]time.Time, before time.Time) []Fault {
	return slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool {
		since, ok := seen[f.Attachment.Name]
		return !f.Orphaned() || !ok || since.After(before)
	})
}
