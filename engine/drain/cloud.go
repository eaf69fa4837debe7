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

// cloudVerdicts are on the volumes that only the cloud still has attached, by name,
// or on the cloud's silence. Kubernetes has let go of such a volume and cannot do
// more, so it is waited for only for as long as any volume may take; afterwards the
// end of the machine is what releases it.
func (x *storage) cloudVerdicts(s *Step) []Verdict {
	c := x.view.Cloud
	if c == nil {
		return nil
	}
	since, until := x.cloudWait()
	if c.Silent != "" {
		r := plan.Reason{Code: plan.CloudSilent, Objects: []plan.ObjectRef{{Kind: "Node", Name: x.view.Node.Name}}, Since: since, Have: c.Silent}
		if x.view.Now.Before(until) {
			s.by(until)
		}
		return []Verdict{{r, x.view.Now.Before(until)}}
	}
	var out []Verdict
	owners := x.owners()
	for _, a := range c.Attached {
		name := unique(a.Driver, a.Handle)
		volume, ours := owners[name]
		if !ours || a.State == detached || x.known(name) {
			continue // nobody in Kubernetes uses it, or its attachment has a verdict
		}
		r := plan.Reason{Code: plan.VolumeHeldByCloud, Objects: x.withClaim(nil, volume, name), Since: since, Have: a.State}
		switch {
		case x.remaining[name]:
			r.Code, r.Have = plan.VolumeIgnored, usedByStaying
		case !x.view.Now.Before(until):
			r.Code, r.Want = plan.VolumeStuck, string(plan.VolumeHeldByCloud)
		default:
			s.by(until)
		}
		out = append(out, Verdict{r, r.Code != plan.VolumeIgnored})
	}
	slices.SortFunc(out, func(a, b Verdict) int { return cmp.Compare(a.Objects[0].Name, b.Objects[0].Name) })
	return slices.CompactFunc(out, func(a, b Verdict) bool { return a.Objects[0] == b.Objects[0] })
}

// cloudWait is since when and until when the cloud's opinion counts: for as long as
// a volume may take to be unmounted and detached, from the end of the last pod that
// had to leave. A Node without a claim does not know that time; its own deletion
// counts instead.
func (x *storage) cloudWait() (since, until time.Time) {
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

// known reports whether a VolumeAttachment of the node is of that volume.
func (x *storage) known(name corev1.UniqueVolumeName) bool {
	for _, a := range x.view.Attachments {
		if x.attached(a) == name {
			return true
		}
	}
	return false
}
