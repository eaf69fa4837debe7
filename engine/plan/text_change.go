package plan

import (
	"fmt"
	"strings"
)

// change words what would have to be different for a machine to do, after "if".
func change(c Constraint) string {
	switch c.Code {
	case ExcludedByPool:
		key, _, _ := strings.Cut(c.Want, " ")
		if c.Have == "" {
			return fmt.Sprintf("the pool did not require %s", c.Want)
		}
		return fmt.Sprintf("the pool allowed %s %s", key, c.Have)
	case RequirementNotMet:
		return labelChange(c)
	case InsufficientResources:
		return amountChange(c)
	case VolumeLimitExceeded:
		return fmt.Sprintf("the pod mounted %s", c.Have)
	case HostPortTaken:
		return fmt.Sprintf("%s did not take host port %s", c.Object, c.Want)
	case TopologyNotSatisfiable:
		what, _, _ := strings.Cut(c.Want, " ")
		return "it were not for the " + what
	case TaintNotTolerated:
		return "the pod tolerated " + c.Have
	case OfferingUnavailable:
		return fmt.Sprintf("it were available (%s)", c.Have)
	case LimitExceeded:
		return fmt.Sprintf("the limit of %s were %s instead of %s", nameOf(c.Want), amountOf(c.Have), amountOf(c.Want))
	case MinValuesNotMet:
		if c.Field == FieldMinTypes {
			return fmt.Sprintf("%s were %s", FieldMinTypes, c.Have)
		}
		return fmt.Sprintf("minValues were %s instead of %s", c.Have, c.Want)
	case PoolNotReady:
		return "the pool were ready"
	case MachinesUnused, LaunchesRefused:
		return "the pool launched"
	}
	return "the pool were not static"
}

// labelChange words which label would do.
func labelChange(c Constraint) string {
	key, value, equal := strings.Cut(c.Want, "=")
	if !equal {
		key, _, _ = strings.Cut(c.Want, " ")
	}
	switch {
	case c.Field == FieldVolumes:
		return fmt.Sprintf("volume claim %s could be reached from %s", c.Object.Name, c.Have)
	case strings.Contains(c.Want, ", "):
		return "the pod did not demand " + c.Want
	case c.Have == "" && equal && settable(key):
		return fmt.Sprintf("the pool set the label %s=%s", key, value)
	case c.Have == "" || strings.HasSuffix(key, "/hostname"):
		return "the pod did not demand " + c.Want
	}
	return fmt.Sprintf("the pod accepted %s %s", key, c.Have)
}

// settable reports whether a pool may give its nodes a label as it likes.
func settable(key string) bool {
	return !strings.Contains(key, "kubernetes.io/") && !strings.HasPrefix(key, "karpenter.")
}

func amountChange(c Constraint) string {
	switch {
	case c.Want == "pods 1":
		return "its DaemonSets left room for a pod"
	case amountOf(c.Have) == "0":
		return "the pod did not ask for " + c.Want
	}
	return fmt.Sprintf("the pod asked for %s instead of %s", c.Have, amountOf(c.Want))
}

// amountOf is the number of "cpu 4" and of "2 devices of a kind".
func amountOf(s string) string {
	before, after, ok := strings.Cut(s, " ")
	if ok && !numberFirst(s) {
		return after
	}
	return before
}

// nameOf is the resource of "cpu 4", and the kind of "2 devices of a kind".
func nameOf(s string) string {
	before, after, _ := strings.Cut(s, " ")
	if numberFirst(s) {
		return after
	}
	return before
}

// numberFirst reports whether a number comes first.
func numberFirst(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }
