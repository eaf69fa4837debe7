package drain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// volumes waits for the attachments of pods that left; its phase is Detach until
// that is over.
func volumes(v View, r roster) Step {
	s := Step{Phase: Detach, Wake: v.Now.Add(recheck)}
	s.by(v.Deadline)
	x := newStorage(v, r)
	s.Volumes = append(x.verdicts(&s), x.held(&s)...)
	waiting := slices.DeleteFunc(slices.Clone(s.Volumes), func(a Verdict) bool { return !a.Waits })
	c := plan.Condition{Type: snapshot.VolumesDetached, Status: corev1.ConditionTrue, Reason: snapshot.VolumesDetached}
	why := ""
	switch {
	case len(waiting) == 0:
	case v.late():
		why = "TerminationGracePeriodElapsed"
	case all(waiting, plan.VolumeUnreachable):
		why = "KubeletSilent"
	case !slices.ContainsFunc(waiting, func(x Verdict) bool { return !releasedByEnd(x) }):
		why = "VolumesHeld"
	case v.Policy.TerminateStuck && all(waiting, plan.VolumeUnreachable, plan.VolumeStuck):
		why = "VolumesStuck"
	default:
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "AwaitingVolumeDetachment", "waiting: "+story(waiting)
		s.Conditions = []plan.Condition{c}
		return s
	}
	s.Phase = Terminate
	if why != "" {
		s.LeftBehind = waiting
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, why, "left behind: "+story(waiting)
		for i := range s.Volumes {
			s.Volumes[i].Waits = false
		}
	}
	s.Conditions = []plan.Condition{c}
	return s
}

// releasedByEnd reports whether only the end of the machine can release a volume.
func releasedByEnd(x Verdict) bool {
	return x.Code == plan.VolumeUnreachable ||
		x.Code == plan.VolumeStuck && (x.Want == string(plan.VolumeHeld) || x.Want == string(plan.VolumeAttaching))
}

// all reports whether the code of every verdict is one of a few.
func all(list []Verdict, codes ...plan.Code) bool {
	return !slices.ContainsFunc(list, func(x Verdict) bool { return !slices.Contains(codes, x.Code) })
}

// story tells of volumes and pods in words, the stuck ones first, and at its end
// what would help the first.
func story(list []Verdict) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Verdict) int { return cmp.Compare(helpless(a), helpless(b)) })
	var parts []string
	for _, x := range list[:min(len(list), shown)] {
		parts = append(parts, x.Message())
	}
	if len(list) > shown {
		parts = append(parts, "…")
	}
	if remedy := list[0].Remedy(); remedy != "" {
		parts = append(parts, remedy)
	}
	return strings.Join(parts, "; ")
}

// helpless orders what is waited for: first what takes a person to do something
// about, then what the end of the machine mends, then what goes on by itself.
func helpless(x Verdict) int {
	switch {
	case x.Remedy() == "":
		return 2
	case x.Code == plan.VolumeHeld || releasedByEnd(x):
		return 1
	}
	return 0
}

// storage is what is known about the volumes of a node.
type storage struct {
	view    View
	drained time.Time
	// remaining are the volumes that pods use which stay to the end, by their names
	// on the node; leaving are the users of the others.
	remaining map[corev1.UniqueVolumeName]bool
	leaving   map[corev1.UniqueVolumeName]member
}

func newStorage(v View, r roster) *storage {
	x := &storage{
		view: v, drained: drainedSince(v),
		remaining: map[corev1.UniqueVolumeName]bool{}, leaving: map[corev1.UniqueVolumeName]member{},
	}
	for _, m := range r {
		for i := range m.pod.Spec.Volumes {
			name := x.nameOf(m.pod, &m.pod.Spec.Volumes[i])
			switch {
			case name == "":
			case m.role.remains():
				x.remaining[name] = true
			case m.role != ended:
				x.leaving[name] = m
			}
		}
	}
	return x
}

// verdicts are on every attachment, by name.
func (x *storage) verdicts(s *Step) []Verdict {
	out := make([]Verdict, 0, len(x.view.Attachments))
	for _, a := range x.view.Attachments {
		verdict := x.verdict(a)
		if !verdict.Until.IsZero() { // when it will be stuck
			s.by(verdict.Until)
			verdict.Until = time.Time{}
		}
		out = append(out, verdict)
	}
	return out
}

func (x *storage) verdict(a *storagev1.VolumeAttachment) Verdict {
	r := plan.Reason{Objects: x.objects(a), Since: a.CreationTimestamp.Time}
	if why := x.ignored(a); why != "" {
		r.Code, r.Have = plan.VolumeIgnored, why
		return Verdict{r, false}
	}
	if user := x.leaving[x.attached(a)]; user.role == stuck && user.silent {
		r.Code = plan.VolumeUnreachable
		return Verdict{r, true}
	}
	r.Code, r.Since, r.Until = x.state(a)
	r.Have = failure(a, r.Code)
	switch {
	case r.Until.IsZero() || x.view.Now.Before(r.Until):
	case r.Code == plan.VolumeMounted && !slices.Contains(x.view.reported(), x.attached(a)):
		r.Code, r.Until = plan.VolumeUnreachable, time.Time{}
	default:
		r.Want, r.Code, r.Until = string(r.Code), plan.VolumeStuck, time.Time{}
		r.Have = cmp.Or(r.Have, x.why(a, plan.Code(r.Want)))
	}
	return Verdict{r, true}
}

// failure is the driver's latest error of what a state waits for, empty if there is none.
func failure(a *storagev1.VolumeAttachment, state plan.Code) string {
	err := a.Status.DetachError
	if state == plan.VolumeAttaching {
		err = a.Status.AttachError
	}
	if err == nil || state != plan.VolumeAttaching && state != plan.VolumeDetaching {
		return ""
	}
	return err.Message
}

const usedByStaying = "a pod that stays uses it"

// ignored is why an attachment is not waited for, empty if it is.
func (x *storage) ignored(a *storagev1.VolumeAttachment) string {
	driver := x.view.Volumes.Drivers[a.Spec.Attacher]
	switch {
	case x.remaining[x.attached(a)]:
		return usedByStaying
	case driver != nil && driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired:
		return "volumes of its driver need not be attached"
	}
	return ""
}

// state is where an attachment is on its way, since when, and when it will be
// stuck there; zero times if that is not known.
func (x *storage) state(a *storagev1.VolumeAttachment) (state plan.Code, since, until time.Time) {
	if a.DeletionTimestamp != nil {
		since = a.DeletionTimestamp.Time
		return plan.VolumeDetaching, since, since.Add(x.view.Policy.DetachTimeout)
	}
	state = plan.VolumeUnmounted
	name := x.attached(a)
	switch {
	case x.leaving[name].pod != nil:
		state = plan.VolumeInUse
	case slices.Contains(x.view.inUse(), name):
		state = plan.VolumeMounted
	case !a.Status.Attached:
		state = plan.VolumeAttaching
	}
	if x.drained.IsZero() {
		return state, a.CreationTimestamp.Time, time.Time{}
	}
	return state, x.drained, x.drained.Add(x.view.Policy.UnmountTimeout)
}

// why is the cause of a stuck volume, as far as it can be seen from here.
func (x *storage) why(a *storagev1.VolumeAttachment, state plan.Code) string {
	pv := a.Spec.Source.PersistentVolumeName
	switch {
	case pv != nil && x.view.Volumes.Volumes[*pv] == nil:
		return "its PersistentVolume does not exist any more"
	case state == plan.VolumeDetaching && x.stateInCloud(x.attached(a)) == detached:
		return "the cloud has detached it"
	case state == plan.VolumeDetaching || state == plan.VolumeUnmounted || state == plan.VolumeAttaching:
		if at := x.stateInCloud(x.attached(a)); at != "" {
			return "in the cloud it is " + at
		}
		return ""
	case x.leaving[x.attached(a)].silent:
		return "the kubelet does not answer"
	case !slices.Contains(registered(x.view), a.Spec.Attacher):
		return "no node plugin of " + a.Spec.Attacher + " is registered on the node"
	case x.leaving[x.attached(a)].pod != nil:
		return "its pod does not end"
	}
	return ""
}

// drainedSince is when the last pod that had to leave was gone, zero if that is
// not known.
func drainedSince(v View) time.Time {
	if v.Node.Claim == nil {
		return time.Time{}
	}
	if !v.Node.Claim.Is(snapshot.Drained) {
		return v.Now
	}
	return v.Node.Claim.Conditions[snapshot.Drained].Since
}
