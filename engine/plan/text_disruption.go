package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// disruptionWords are those of codes_disruption.go.
var disruptionWords = words{
	Disrupting: caused(func(r Reason) string {
		if r.Since.IsZero() {
			return "is to be disrupted: " + r.Want
		}
		return "is being disrupted: " + r.Want
	}),
	BeingDeleted:     say("is already being deleted"),
	NotOurs:          say("has no NodeClaim, so Millwright does not manage it"),
	InstanceShared:   say("%s has the same provider ID, and its pods would have to leave with the instance: %s", first("another Node"), others),
	NotInitialized:   caused(say("is not initialized: waiting for %s", want)),
	Standalone:       say("was created by hand and belongs to no NodePool"),
	PoolMissing:      say("%s does not exist", first("NodePool")),
	StaticPool:       say("%s keeps a fixed number of nodes (spec.replicas)", first("NodePool")),
	ConsolidationOff: say("%s has consolidateAfter: Never", first("NodePool")),
	ConsolidateAfter: say("pods last came or went at %s, and consolidateAfter is %s: waits until %s", since, want, end),
	Starved: func(r Reason) string {
		text := fmt.Sprintf("pods come and go every %s on average (%d times since %s), and consolidateAfter is %s: ", r.Have, r.Total, at(r.Since), r.Want)
		if r.Field == "empty" {
			return text + "is removed at " + at(r.Until) + " unless a pod comes first"
		}
		return text + "waits until " + at(r.Until) + " at the latest"
	},
	BudgetInvalid:   say("%s has an invalid disruption budget, so none of its nodes may be disrupted: %s", first("NodePool"), have),
	BudgetExhausted: ends(say("the disruption budget {%s} of %s allows no more now: %s", want, first("NodePool"), have)),
	PodFitsNowhere: func(r Reason) string {
		text := "no other node has room for " + r.first("its pods")
		if r.Have != "" {
			text += ", and its pool cannot launch: " + r.Have
		}
		return text
	},
	RoomKept: ends(func(r Reason) string {
		return fmt.Sprintf("%s keeps room for pods like those of the last %s (%s), because %s of the last day's savings was soon spent again (loopFreeze)", r.first("its NodePool"), r.Want, r.Have, r.Hint)
	}),
	NothingCheaper: func(r Reason) string {
		if r.Have == r.Want {
			return fmt.Sprintf("costs %s, and nothing cheaper fits its pods", r.Have)
		}
		return fmt.Sprintf("costs %s; machines for its pods cost at least %s", r.Have, r.Want)
	},
	SavingTooSmall: ends(say("removing it would save %s, and must save %s%s", have, want, hurdleText)),
	WatchBehind:    say("the watch of pods is behind: it has not told yet of %s on a node that looked free", first("a pod")),
	NotExamined: func(r Reason) string {
		const later = "is examined in one of the next passes"
		if r.Have == "" {
			return later
		}
		return fmt.Sprintf("costs up to %s more than its pods need; it %s", r.Have, later)
	},
	CountedOn:   say("is needed by the pods of %s, which is being removed", first("a machine")),
	Replacement: say("was launched to replace %s", first("another machine")),
	RolledBack:  say("its removal was rolled back because of %s: %s", first("another machine"), have),
	ReplacementFailed: func(r Reason) string {
		if r.Want != "" {
			late := withCause(fmt.Sprintf("%s did not become ready within %s", r.first("a machine that its pods need"), r.Want), r.Hint)
			return fmt.Sprintf("%s, so this machine stays for now; %s in a row", late, r.Have)
		}
		return until(fmt.Sprintf("replacements failed, %s in a row; the next attempt waits", r.Have), r.Until)
	},
	LimitHolds:          say("the limits of %s allow no further machine: %s", first("the pool"), have),
	PolicyHolds:         ends(say("%s forbids it: %s", ruler, want)),
	PriceUnknown:        caused(say("the price of its instance type is not known, so no saving can be computed")),
	NotAgreed:           say("%s does not have the annotation karpenter.sh/do-not-disrupt: \"false\", which defaultDeny demands", first("a pod")),
	WorkloadCoolsDown:   ends(say("a pod of the workload of %s started at %s, and workloadCooldown is %s", first("a pod"), since, want)),
	EvictionRateReached: ends(say("evictionsPerHour of %s is %s, and %s", first("the pool"), want, evicted)),
	DoNotDisrupt:        ends(say("%s has the annotation karpenter.sh/do-not-disrupt: %q", first("it"), have)),
	Nominated: func(r Reason) string {
		if len(r.Objects) > 1 {
			return fmt.Sprintf("was launched with %s, which is nominated for %s", r.Objects[1], r.Objects[0])
		}
		return "is nominated for " + r.first("pod")
	},
	HasPods: func(r Reason) string {
		if r.Have == "1" {
			return "1 pod would have to move: " + list(r.Objects, r.Have)
		}
		return fmt.Sprintf("%s pods would have to move: %s", r.Have, list(r.Objects, r.Have))
	},
	HasBuffers: say("capacity buffers would need room elsewhere (chunks: %s): %s", have, all),
	PDBBlocks:  say("%s may not be evicted: %s", first("a pod"), others),
}

// evicted is how many pods were evicted.
func evicted(r Reason) string {
	if r.Have == "1" {
		return "1 pod was evicted in the last hour or is about to be"
	}
	return r.Have + " pods were evicted in the last hour or are about to be"
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
		return fmt.Sprintf(", because %s of %s, which has %d, were evicted lately and %s of the last day's savings was soon spent again (loopFreeze)", Count(r.Removed, "pod"), r.first("its NodePool"), r.Total, r.Hint)
	}
	return ""
}

// ruler is the NodePolicy of a pool.
func ruler(r Reason) string { return r.second("the policy of " + r.first("the pool")) }

// first names the object to look at first.
func (r Reason) first(otherwise string) string {
	if len(r.Objects) == 0 {
		return otherwise
	}
	return r.Objects[0].String()
}

// list names the first objects and counts the rest of a total, which is as many as there are
// objects if it is empty: a condition's message has bounds, and a machine holds hundreds of pods.
func list(objects []ObjectRef, total string) string {
	const shown = 5
	names := make([]string, min(len(objects), shown))
	for i := range names {
		names[i] = objects[i].String()
	}
	count := len(objects)
	if n, err := strconv.Atoi(total); err == nil {
		count = n
	}
	text := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
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
