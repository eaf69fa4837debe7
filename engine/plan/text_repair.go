package plan

import "fmt"

// repairWords are those of codes_repair.go.
var repairWords = words{
	RepairDue: func(r Reason) string {
		text := fmt.Sprintf("%s, because %s since %s", r.Want, r.Have, at(r.Since))
		if !r.Until.IsZero() {
			text += "; without a replacement it is terminated at " + at(r.Until)
		}
		return text
	},
	Rebooting:         say("is being rebooted, because %s", have),
	FindingTolerated:  say("%s since %s; %s at %s unless it ends", have, since, want, end),
	FindingNoted:      say("%s since %s, which the policy only reports", have, since),
	FindingIgnored:    say("%s since %s, which the policy ignores", have, since),
	DoNotRepair:       say("%s since %s; not repaired, because of the annotation karpenter.sh/do-not-repair", have, since),
	RepairBlocked:     say("no node of %s is repaired while more than %s are unhealthy: %s are", pooled, want, have),
	CorrelatedFailure: say("not repaired, because the failure is not the node's own: %s, %s nodes unhealthy", want, have),
	RepairBudget:      say("the repair budget %s of %s is used up: %s under repair", want, pooled, have),
	TooFewHealthy:     say("not terminated, because %s has only %s healthy nodes, and the policy requires %s", pooled, have, want),
}

// pooled names the pool of a machine, or the cluster for one that has none.
func pooled(r Reason) string {
	if len(r.Objects) > 0 && r.Objects[0].Kind == "NodePool" {
		return r.first("")
	}
	return "the cluster"
}
