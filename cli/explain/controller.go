package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Controller is what objects tell of the process that launches machines.
type Controller struct {
	// Name is that of the leases of which a process holds one while it acts, Acting; Observing
	// are of those that only observe. Unknown says that they may not be read.
	Name              string
	Acting, Observing []*coordinationv1.Lease
	Unknown           bool
	// Said is what the controller said last of objects that lack machines, by their names.
	Said map[string]*corev1.Event
}

// Attend adds to answers that promise machines what the controller said of the objects,
// and why none of them is launched if no controller does that.
func (c *Cluster) Attend(answers []*Answer, by *Controller) {
	for _, a := range answers {
		if !a.Promises() {
			continue
		}
		if e := by.Said[a.Object.Name]; e != nil && a.Verdict != NewNode {
			a.contradict(e.Message, e.LastTimestamp.Time)
		}
		if !by.Unknown {
			c.unattended(a, by)
		}
	}
}

// Promises reports whether the answer is that a machine comes.
func (a *Answer) Promises() bool { return a.Verdict == NeedsNode || a.Verdict == NewNode || a.launches }

// contradict adds that the controller reported otherwise a moment ago, when the answer is
// that there would be a machine: the cloud has none at present.
func (a *Answer) contradict(said string, at time.Time) {
	a.say(fmt.Sprintf("But at %s the controller reported: %s.", Stamp(at), strings.TrimSuffix(said, ".")))
	a.Fixes = append(a.Fixes, Fix{What: "if none is available at present: " + plan.Reason{Code: plan.OfferingUnavailable}.Fix()})
}

// unattended adds why no process launches a machine, if none does.
func (c *Cluster) unattended(a *Answer, by *Controller) {
	held := func(l *coordinationv1.Lease) bool { return Held(l, c.s.Now) }
	if i := slices.IndexFunc(by.Acting, held); i >= 0 {
		c.unready(a, by.Acting[i])
		return
	}
	observer := slices.IndexFunc(by.Observing, held)
	switch {
	case len(by.Acting) > 0:
		last := slices.MaxFunc(by.Acting, func(x, y *coordinationv1.Lease) int { return Renewed(x).Compare(Renewed(y)) })
		a.say(fmt.Sprintf("No controller has held %s since %s: nothing is launched until one runs.", named(last), Stamp(Renewed(last))))
	case observer < 0 && len(by.Said) > 0: // by one that runs without a lease
		return
	case observer < 0:
		a.say(fmt.Sprintf("There is no lease %s: nothing is launched unless a controller runs with --disable-leader-election, or with a lease of another name.", by.Name))
	}
	if observer >= 0 {
		a.say(fmt.Sprintf("%s is that of a controller which only observes, and launches nothing.", named(by.Observing[observer])))
	}
	a.Fixes = append(a.Fixes, Fix{
		What:     "run a controller that acts: a Deployment with replicas and without --mode observe",
		Commands: []string{"kubectl get leases -A --field-selector metadata.name=" + by.Name},
	})
}

// Holder is the name of the pod that holds a lease, empty if none does. The identity of a holder is
// its host name, which is a pod's name, and something random.
func Holder(l *coordinationv1.Lease) string {
	name, _, _ := strings.Cut(ptr.Deref(l.Spec.HolderIdentity, ""), "_")
	return name
}

// unready adds that the pod which holds a lease is not ready.
func (c *Cluster) unready(a *Answer, l *coordinationv1.Lease) {
	name := Holder(l)
	for _, n := range c.s.Nodes {
		for _, p := range n.Pods {
			if p.Namespace != l.Namespace || p.Name != name {
				continue
			}
			for _, cond := range p.Status.Conditions {
				if cond.Type == corev1.PodReady && cond.Status != corev1.ConditionTrue {
					a.say(fmt.Sprintf("%s, which holds %s, has not been ready since %s, and plans nothing until it is.", plan.PodRef(p.Pod), named(l), Stamp(cond.LastTransitionTime.Time)))
					a.Fixes = append(a.Fixes, Fix{
						What:     "the controller has to become ready: its log says what it waits for, or which right it lacks",
						Commands: []string{fmt.Sprintf("kubectl logs %s -n %s", name, l.Namespace)},
					})
				}
			}
		}
	}
}

func named(l *coordinationv1.Lease) string {
	return plan.ObjectRef{Kind: "Lease", Namespace: l.Namespace, Name: l.Name}.String()
}

// Held reports whether a lease has a holder and has not expired.
func Held(l *coordinationv1.Lease, now time.Time) bool {
	lasts := time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second
	return ptr.Deref(l.Spec.HolderIdentity, "") != "" && now.Before(Renewed(l).Add(lasts))
}

// Renewed is when a lease was renewed last, zero if it never was: when the API server wrote it, and
// what its holder says only where that is not known, as the clock of a holder may be off.
func Renewed(l *coordinationv1.Lease) time.Time {
	var at time.Time
	if l.Spec.RenewTime == nil {
		return at
	}
	for _, f := range l.ManagedFields {
		if f.Time != nil && f.Time.After(at) {
			at = f.Time.Time
		}
	}
	if at.IsZero() {
		at = l.Spec.RenewTime.Time
	}
	return at
}
