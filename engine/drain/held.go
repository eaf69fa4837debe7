package drain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
)

// CloudVolumes is the cloud's own view of what is attached to a machine.
type CloudVolumes struct {
	// Attached are in any order. Volumes that are deleted together with the machine
	// are not among them.
	Attached []CloudAttachment
	// Silent is why the cloud did not answer, empty if it did.
	Silent string
}

// CloudAttachment is a volume that the cloud has attached to a machine, whatever
// Kubernetes knows of it.
type CloudAttachment struct {
	// Driver and Handle are those of the CSI PersistentVolume that it would be, such
	// as ebs.csi.aws.com and vol-0123456789abcdef0.
	Driver, Handle string
	// State is the cloud's word, such as attached, detaching or busy; "detached" is
	// as good as not there.
	State string
}

const detached = "detached"

// stateInCloud is how a volume of a machine stands in the cloud; empty if the cloud
// does not say.
func (x *storage) stateInCloud(name corev1.UniqueVolumeName) string {
	c := x.view.Cloud
	if c == nil || c.Silent != "" {
		return ""
	}
	for _, a := range c.Attached {
		if unique(a.Driver, a.Handle) == name {
			return a.State
		}
	}
	return detached
}

// held are the verdicts, by name, on volumes that are still held without an attachment,
// and one on a cloud that does not say whether it holds any. Kubernetes cannot do more
// for such a volume, so it is waited for only for as long as any volume may take;
// afterwards the end of the machine is what releases it.
func (x *storage) held(s *Step) []Verdict {
	since, until := x.heldFor()
	waits := x.view.Now.Before(until)
	var out []Verdict
	owners, holders := x.owners(), x.holders()
	for name, holder := range holders {
		volume, ours := owners[name]
		if !ours {
			continue // no PersistentVolume is about it
		}
		r := plan.Reason{Code: plan.VolumeHeld, Objects: x.withClaim(nil, volume, name), Since: since, Have: holder}
		switch {
		case x.remaining[name]:
			r.Code, r.Have = plan.VolumeIgnored, usedByStaying
		case !waits:
			r.Code, r.Want = plan.VolumeStuck, string(plan.VolumeHeld)
		}
		out = append(out, Verdict{r, r.Code != plan.VolumeIgnored})
	}
	slices.SortFunc(out, func(a, b Verdict) int { return cmp.Compare(a.Objects[0].Name, b.Objects[0].Name) })
	if c := x.view.Cloud; c != nil && c.Silent != "" {
		r := plan.Reason{Code: plan.CloudSilent, Objects: []plan.ObjectRef{plan.NodeRef(x.view.Node.Name)}, Since: since, Have: c.Silent}
		out = append(out, Verdict{r, waits})
	}
	if waits && len(out) > 0 {
		s.by(until)
	}
	return out
}

// holders say of the volumes without an attachment who still holds them, the kubelet
// rather than the cloud, and the cloud rather than kube-controller-manager.
func (x *storage) holders() map[corev1.UniqueVolumeName]string {
	out := map[corev1.UniqueVolumeName]string{}
	status := &x.view.Node.Object.Status
	for _, v := range status.VolumesAttached {
		out[v.Name] = "kube-controller-manager still has it attached"
	}
	if c := x.view.Cloud; c != nil && c.Silent == "" {
		for _, a := range c.Attached {
			if a.State != detached {
				out[unique(a.Driver, a.Handle)] = "the cloud still has it attached (" + a.State + ")"
			}
		}
	}
	for _, name := range x.view.reported() {
		out[name] = "the kubelet still has it in use"
	}
	for _, a := range x.view.Attachments { // it has a verdict
		delete(out, x.attached(a))
	}
	return out
}

// heldFor is since when and until when such a volume is waited for: for as long as it
// may take to be unmounted and detached, from the end of the last pod that had to
// leave. A Node without a claim does not know that time; its own deletion
// counts instead.
func (x *storage) heldFor() (since, until time.Time) {
	since = x.drained
	if at := x.view.Node.Object.DeletionTimestamp; since.IsZero() && at != nil {
		since = at.Time
	}
	return since, since.Add(x.view.Policy.UnmountTimeout + x.view.Policy.DetachTimeout)
}

// owners are the PersistentVolumes by their names on a node; of several with one
// name the first.
func (x *storage) owners() map[corev1.UniqueVolumeName]string {
	out := map[corev1.UniqueVolumeName]string{}
	for _, pv := range slices.SortedFunc(maps.Keys(x.view.Volumes.Volumes), strings.Compare) {
		if name := x.ofPV(pv); out[name] == "" {
			out[name] = pv
		}
	}
	return out
}
