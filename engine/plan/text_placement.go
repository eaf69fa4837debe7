package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pool names the pool that a reason is about.
func (r Reason) pool() string {
	if len(r.Objects) == 0 {
		return "every pool"
	}
	return "pool " + r.Objects[0].Name
}

// poolText words what a pool has against a pod; empty for reasons that are not about
// a pool.
func poolText(r Reason) string {
	switch r.Code {
	case LaunchesRefused:
		if !r.Until.IsZero() {
			return ""
		}
		return "it cannot launch: " + r.Have + r.beyond()
	case PoolNotReady:
		return "it cannot launch: " + r.Have + r.beyond()
	case MachinesUnused:
		if r.Want != "" {
			return ""
		}
		return "it launches nothing for the pod: " + r.Have + r.beyond()
	case PoolStatic:
		return "it has a fixed number of nodes (spec.replicas)" + r.beyond()
	case NoInstanceTypes:
		if len(r.With) == 0 && r.Want == "" {
			return "the cloud offers no instance type"
		}
		if len(r.With) == 0 {
			return fmt.Sprintf("its requirement %s leaves no instance type; the cloud offers %s", r.Want, orNothing(r.Have))
		}
	case TaintNotTolerated:
		return fmt.Sprintf("the pod does not tolerate its taint %s%s", r.Have, r.beyond())
	case MinValuesNotMet:
		return minValuesText(r)
	case TopologyNotSatisfiable:
		if len(r.Objects) == 0 {
			return ""
		}
	case RequirementNotMet, InsufficientResources, VolumeLimitExceeded, HostPortTaken, OfferingUnavailable, LimitExceeded, ExcludedByPool:
	default:
		return ""
	}
	return conflictText(r)
}

// conflictText words constraints that no machine satisfies.
func conflictText(r Reason) string {
	if len(r.With) == 0 {
		return aloneText(r) + r.hint() + r.beyond()
	}
	var parts, amounts []string
	for _, c := range append([]Constraint{r.constraint()}, r.With...) {
		if c.Code == InsufficientResources && c.Want != onePod {
			amounts = append(amounts, c.Want)
			continue
		}
		parts = append(parts, predicate(c))
	}
	if len(amounts) > 0 {
		parts = append([]string{"has room for " + and(amounts)}, parts...)
	}
	return "no machine " + and(parts) + r.hint() + r.unless()
}

// constraint is the one that a reason is about.
func (r Reason) constraint() Constraint {
	c := Constraint{Code: r.Code, Field: r.Field, Want: r.Want, Have: r.Have}
	if r.Code == NoInstanceTypes {
		c.Code = ExcludedByPool
	}
	if len(r.Objects) > 1 {
		c.Object = r.Objects[1]
	}
	return c
}

// onePod is what a pod asks for by being one.
const onePod = "pods 1"

// predicate is what a machine would have to do.
func predicate(c Constraint) string {
	switch c.Code {
	case RequirementNotMet:
		switch c.Field {
		case FieldVolumes:
			return fmt.Sprintf("reaches volume claim %s (%s)", c.Object.Name, c.Want)
		case FieldNodeSelector:
			return "has " + c.Want + " (nodeSelector)"
		case FieldNodeAffinity:
			return "has " + c.Want + " (node affinity)"
		}
		return "has all of: " + c.Want
	case InsufficientResources:
		if c.Want == onePod {
			return "has room for one more pod"
		}
		return "has room for " + c.Want
	case VolumeLimitExceeded:
		return "attaches " + c.Want
	case HostPortTaken:
		return fmt.Sprintf("has host port %s free (%s takes it)", c.Want, c.Object)
	case TopologyNotSatisfiable:
		if c.Object.Kind == "DaemonSet" {
			return fmt.Sprintf("satisfies the %s (%s runs on it)", c.Want, c.Object)
		}
		return fmt.Sprintf("satisfies the %s (%s)", c.Want, c.Have)
	case OfferingUnavailable:
		return "is available at present" + lackText(c.Want)
	case LimitExceeded:
		return fmt.Sprintf("is within the pool's limit of %s (%s in use)", c.Want, amountOf(c.Have))
	}
	if c.Field == FieldLabels {
		return "may have the pool's label " + c.Want
	}
	return "is allowed by the pool's requirement " + c.Want
}

// aloneText words a constraint that no machine satisfies by itself, and what there
// is instead.
func aloneText(r Reason) string {
	switch r.Code {
	case RequirementNotMet:
		return "no machine " + predicate(r.constraint()) + labelsText(r)
	case InsufficientResources:
		return roomText(r)
	case VolumeLimitExceeded:
		return fmt.Sprintf("no machine attaches %s; the most is %s", r.Want, r.Have)
	case OfferingUnavailable:
		return "no offering is available at present: " + r.Have + lackText(r.Want)
	case LimitExceeded:
		text := fmt.Sprintf("its limit of %s leaves no room for another node (%s in use)", r.Want, amountOf(r.Have))
		if r.Nearest != nil && len(r.Nearest.Changes) == 1 {
			text += fmt.Sprintf("; with %s it would be %s", r.Nearest.InstanceType, amountOf(r.Nearest.Changes[0].Have))
		}
		return text
	}
	return "no machine " + predicate(r.constraint())
}

// lackText is what is short other than the cloud's capacity.
func lackText(what string) string {
	if what == "" {
		return ""
	}
	return " (lacking: " + what + ")"
}

// labelsText is what machines have instead of a label.
func labelsText(r Reason) string {
	switch {
	case strings.HasPrefix(r.Want, "kubernetes.io/hostname"), strings.HasPrefix(r.Want, "metadata.name "):
		return "; a new node gets a name of its own"
	case strings.HasPrefix(r.Want, "karpenter.sh/nodepool"):
		return ""
	case r.Have == "":
		return "; none has the label"
	}
	return "; they have " + r.Have
}

// roomText is how much room there is instead.
func roomText(r Reason) string {
	switch {
	case r.Want == onePod:
		return "no machine has room for one more pod beside its DaemonSets"
	case amountOf(r.Have) == "0":
		return fmt.Sprintf("no machine has any %s, the pod asks for %s", nameOf(r.Want), amountOf(r.Want))
	case r.Nearest != nil && len(r.Nearest.Changes) == 1 && r.Nearest.Changes[0].Code == r.Code:
		return fmt.Sprintf("no machine has room for %s; the most left for pods is %s on %s", r.Want, amountOf(r.Nearest.Changes[0].Have), r.Nearest.InstanceType)
	}
	return fmt.Sprintf("no machine has room for %s; the most left for pods is %s", r.Want, amountOf(r.Have))
}

func minValuesText(r Reason) string {
	text := fmt.Sprintf("its minValues demand %s, and there is only %s", r.Want, r.Have)
	if r.Field == FieldMinTypes {
		text = fmt.Sprintf("%s demands %s, and there is only %s", FieldMinTypes, r.Want, r.Have)
	}
	if len(r.With) == 0 {
		return text
	}
	parts := make([]string, len(r.With))
	for i, c := range r.With {
		parts[i] = predicate(c)
	}
	return text + " that " + and(parts)
}

// beyond tells all that stands between the pod and the nearest machine, where one
// constraint is told and that is not all.
func (r Reason) beyond() string {
	if r.Nearest == nil || len(r.Nearest.Changes) < 2 {
		return ""
	}
	return r.unless()
}

// unless tells the nearest miss.
func (r Reason) unless() string {
	if r.Nearest == nil {
		return ""
	}
	parts := make([]string, len(r.Nearest.Changes))
	for i, c := range r.Nearest.Changes {
		parts[i] = change(c)
	}
	return fmt.Sprintf("; would fit %s if %s", r.Nearest.InstanceType, and(parts))
}

func (r Reason) hint() string {
	if r.Hint == "" {
		return ""
	}
	return "; did you mean " + r.Hint + "?"
}

// placementWords are those of codes.go that are about no pool.
var placementWords = words{
	NoPools:            say("there is no NodePool"),
	ConstraintsInvalid: say("the pod's constraints are invalid: %s", have),
	ConstraintUnsupported: func(r Reason) string {
		if len(r.Objects) > 0 {
			return fmt.Sprintf("the pod claims devices through %s, which does not count: %s", r.Objects[0], r.Have)
		}
		return "the pod relies on " + r.Want + ", which is not supported"
	},
	VolumeClaimMissing:     say("%s does not exist", first("a volume claim")),
	VolumeClaimUnusable:    say("%s cannot be used: %s", first("a volume claim"), have),
	StorageClassMissing:    say("%s names %s, which does not exist", first("a volume claim"), second("a storage class")),
	TopologyNotSatisfiable: say("no node can satisfy %s; %s", want, have),
	PreferenceTooDear:      say("the pods prefer %s, which would cost more than %s extra", want, have),
	PreferenceNotMet:       say("the pods prefer %s, which is not available at their price", want),
	PodEnded:               say("the pod has ended or is ending"),
	PodOfDaemonSet:         say("the pod belongs to a DaemonSet and to a node that exists"),
	PodOfNode:              say("the kubelet runs the pod by itself"),
	SchedulingGated:        say("the scheduling gate %s holds the pod back", have),
	JobSuspended:           say("%s is suspended", first("the Job")),
	Preempting:             say("kube-scheduler preempts pods to make room for it on node %s", have),
	OptedOut:               say("the pod accepts only nodes that belong to no pool (karpenter.sh/nodepool DoesNotExist)"),
	AwaitingScheduler:      say("%s has not tried the pod yet", scheduler),
	SchedulerDisagrees:     disagreementText,
	ResizeDeferred:         say("the resize of the pod waits for room on %s: %s", second("its node"), have),
	ResizeInfeasible:       say("the pod cannot be resized on %s: %s", second("its node"), have),
}

func (r Reason) second(otherwise string) string {
	if len(r.Objects) < 2 {
		return otherwise
	}
	return r.Objects[1].String()
}

// and joins parts of a sentence.
func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func orNothing(s string) string {
	if s == "" {
		return "nothing of the kind"
	}
	return s
}

// disagreementText words what the scheduler says against a plan.
func disagreementText(r Reason) string {
	where := "the machines planned for it"
	if len(r.Objects) > 0 && r.Objects[0].Kind == "Node" {
		where = r.Objects[0].String()
	}
	text := fmt.Sprintf("there is room for the pod on %s, but the scheduler does not put it there: %q", where, r.Have)
	if r.Until.After(r.Since) {
		text += "; it is planned again at " + at(r.Until)
	}
	return text
}

// scheduler is the one that a pod names, kube-scheduler by its own name.
func scheduler(r Reason) string {
	if r.Have == "" || r.Have == corev1.DefaultSchedulerName {
		return "kube-scheduler"
	}
	return "the scheduler " + r.Have
}
