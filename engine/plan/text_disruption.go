package plan

import (
	"fmt"
	"strings"
	"time"
)

// disruptionText words the reasons of codes_disruption.go; empty for others.
func disruptionText(r Reason) string {
	switch r.Code {
	case Disrupting:
		return withCause("is being disrupted: "+r.Want, r.Have)
	case BeingDeleted:
		return "is already being deleted"
	case NotOurs:
		return "has no NodeClaim, so Millwright does not manage it"
	case NotInitialized:
		return withCause("is not initialized: waiting for "+r.Want, r.Have)
	case Standalone:
		return "was created by hand and belongs to no NodePool"
	case PoolMissing:
		return r.first("NodePool") + " does not exist"
	case StaticPool:
		return r.first("NodePool") + " keeps a fixed number of nodes (spec.replicas)"
	case ConsolidationOff:
		return r.first("NodePool") + " has consolidateAfter: Never"
	case ConsolidateAfter:
		return fmt.Sprintf("pods last came or went at %s, and consolidateAfter is %s: waits until %s", at(r.Since), r.Want, at(r.Until))
	case Starved:
		text := fmt.Sprintf("pods come and go every %s on average (%d times since %s), and consolidateAfter is %s: ", r.Have, r.Total, at(r.Since), r.Want)
		if r.Field == "empty" {
			return text + "is removed at " + at(r.Until) + " unless a pod comes first"
		}
		return text + "waits until " + at(r.Until) + " at the latest"
	case BudgetInvalid:
		return fmt.Sprintf("%s has an invalid disruption budget, so none of its nodes may be disrupted: %s", r.first("NodePool"), r.Have)
	case BudgetExhausted:
		return until(fmt.Sprintf("the disruption budget {%s} of %s allows no more now: %s", r.Want, r.first("NodePool"), r.Have), r.Until)
	}
	for _, words := range []func(Reason) string{consolidationText, calmText} {
		if text := words(r); text != "" {
			return text
		}
	}
	return podText(r)
}

// calmText words those that keep machines from going again and again.
func calmText(r Reason) string {
	switch r.Code {
	case NotAgreed:
		return fmt.Sprintf("%s does not have the annotation karpenter.sh/do-not-disrupt: \"false\", which defaultDeny demands", r.first("a pod"))
	case WorkloadCoolsDown:
		return until(fmt.Sprintf("a pod of the workload of %s started at %s, and workloadCooldown is %s", r.first("a pod"), at(r.Since), r.Want), r.Until)
	case EvictionRateReached:
		return until(fmt.Sprintf("evictionsPerHour of %s is %s, and %s pods were evicted in the last hour", r.first("the pool"), r.Want, r.Have), r.Until)
	}
	return ""
}

// consolidationText words those about replacing a machine.
func consolidationText(r Reason) string {
	switch r.Code {
	case PodFitsNowhere:
		return "no other node has room for " + r.first("its pods")
	case NothingCheaper:
		if r.Have == r.Want {
			return fmt.Sprintf("costs %s, and nothing cheaper fits its pods", r.Have)
		}
		return fmt.Sprintf("costs %s; the cheapest alternative for its pods costs %s", r.Have, r.Want)
	case SavingTooSmall:
		return until(fmt.Sprintf("removing it would save %s, and must save %s%s", r.Have, r.Want, hurdleText(r)), r.Until)
	case NotExamined:
		return fmt.Sprintf("costs up to %s more than its pods need; it is examined in one of the next passes", r.Have)
	case CountedOn:
		return "is needed by the pods of " + r.first("a machine") + ", which is being removed"
	case Replacement:
		return "was launched to replace " + r.first("another machine")
	case RolledBack:
		return fmt.Sprintf("its removal was rolled back because of %s: %s", r.first("another machine"), r.Have)
	case ReplacementFailed:
		if r.Want != "" {
			return fmt.Sprintf("%s did not become ready within %s, so this machine stays for now; %s in a row", r.first("a machine that its pods need"), r.Want, r.Have)
		}
		return until(fmt.Sprintf("%s replacements in a row did not become ready; the next attempt waits", r.Have), r.Until)
	case LimitHolds:
		return fmt.Sprintf("a replacement would exceed the limits of %s: %s", r.first("the pool"), r.Have)
	case PolicyHolds:
		return until(fmt.Sprintf("the policy of %s forbids it: %s", r.first("the pool"), r.Want), r.Until)
	case PriceUnknown:
		return "the price of its instance type is not known, so no saving can be computed"
	}
	return ""
}

// hurdleText says what a move must save so much for.
func hurdleText(r Reason) string {
	switch r.Field {
	case "minSavingPercent":
		return " (minSavingPercent)"
	case "spotToSpot":
		return fmt.Sprintf(" (spotToSpot, with %d instance types to choose from)", r.Total)
	case "paybackTime":
		return " to pay for the move within paybackTime"
	case "machines":
		return fmt.Sprintf(" to be worth %d more machines", r.Total)
	case "consolidationPolicy":
		return " to be worth moving so many of the pods of " + r.first("its NodePool")
	case "loopFreeze":
		return fmt.Sprintf(", because %d of %d pods of %s were evicted lately and %s of such savings was spent again (loopFreeze)", r.Removed, r.Total, r.first("its NodePool"), r.Hint)
	}
	return ""
}

// podText words those that are about pods.
func podText(r Reason) string {
	switch r.Code {
	case DoNotDisrupt:
		return until(fmt.Sprintf("%s has the annotation karpenter.sh/do-not-disrupt: %q", r.first("it"), r.Have), r.Until)
	case Nominated:
		return "is nominated for the pending " + r.first("pod")
	case HasPods:
		if r.Have == "1" {
			return "1 pod would have to move: " + list(r.Objects, r.Have)
		}
		return fmt.Sprintf("%s pods would have to move: %s", r.Have, list(r.Objects, r.Have))
	case PDBBlocks:
		return fmt.Sprintf("%s may not be evicted: %s", r.first("a pod"), list(r.rest(), ""))
	}
	return ""
}

// first names the object to look at first.
func (r Reason) first(otherwise string) string {
	if len(r.Objects) == 0 {
		return otherwise
	}
	return r.Objects[0].String()
}

func list(objects []ObjectRef, total string) string {
	names := make([]string, len(objects))
	for i, o := range objects {
		names[i] = o.String()
	}
	if total != "" && total != fmt.Sprint(len(objects)) {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

func withCause(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + " (" + cause + ")"
}

func until(text string, end time.Time) string {
	if end.IsZero() {
		return text
	}
	return text + ", until " + at(end)
}

func at(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format(time.RFC3339)
}
