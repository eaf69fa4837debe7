package plan

import "fmt"

// repairText words the reasons of codes_repair.go; empty for others.
func repairText(r Reason) string {
	switch r.Code {
	case RepairDue:
		text := fmt.Sprintf("%s, because %s since %s", r.Want, r.Have, at(r.Since))
		if !r.Until.IsZero() {
			text += "; without a replacement it is terminated at " + at(r.Until)
		}
		return text
	case FindingTolerated:
		return fmt.Sprintf("%s since %s; %s at %s unless it ends", r.Have, at(r.Since), r.Want, at(r.Until))
	case FindingNoted:
		return fmt.Sprintf("%s since %s, which the policy only reports", r.Have, at(r.Since))
	case FindingIgnored:
		return fmt.Sprintf("%s since %s, which the policy ignores", r.Have, at(r.Since))
	case RepairBlocked:
		return fmt.Sprintf("no node of %s is repaired while more than %s are unhealthy: %s are", pooled(r), r.Want, r.Have)
	case CorrelatedFailure:
		return fmt.Sprintf("not repaired, because the failure is not the node's own: %s, %s nodes unhealthy", r.Want, r.Have)
	case RepairBudget:
		return fmt.Sprintf("the repair budget %s of %s is used up: %s under repair", r.Want, pooled(r), r.Have)
	case TooFewHealthy:
		return fmt.Sprintf("not terminated, because %s has only %s healthy nodes, and the policy requires %s", pooled(r), r.Have, r.Want)
	}
	return ""
}

// pooled names the pool of a machine, or the cluster for one that has none.
func pooled(r Reason) string {
	if len(r.Objects) > 0 && r.Objects[0].Kind == "NodePool" {
		return r.first("")
	}
	return "the cluster"
}
