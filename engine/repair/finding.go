package repair

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Finding is what is wrong with a machine.
type Finding struct {
	// Name is the condition's type, or DaemonSet/namespace/name. It is the same for
	// all machines that have the same.
	Name string
	// What is the condition with its status, or the agent's pod and its restarts.
	What string
	// Object is the agent's DaemonSet; empty for a condition.
	Object plan.ObjectRef
	// Since is when it began, Due when it is tolerated no longer.
	Since, Due time.Time
	Action     snapshot.RepairAction
	// key tells it from others of the machine.
	key string
}

// SinceAnnotation is on a claim while something is wrong with its machine: since when, by finding,
// JSON. The restarts of an agent do not tell, and the time of a condition may begin anew with each
// reason, as with EKS' node monitoring agent.
const SinceAnnotation = "millwright.dev/unhealthy-since"

// noted is since when findings of a machine are there, by key.
func noted(n *snapshot.Node) map[string]time.Time {
	var out map[string]time.Time
	if json.Unmarshal([]byte(n.Claim.Annotations[SinceAnnotation]), &out) != nil {
		return nil
	}
	return out
}

// first is when a finding was noted, if that is before what is told of it now.
func first(noted map[string]time.Time, key string, told time.Time) time.Time {
	if at, ok := noted[key]; ok && at.Before(told) {
		return at
	}
	return told
}

// note keeps track of since when findings are there: of conditions once the machine is initialized,
// as each begins as one that is not ready.
func (d *decider) note(n *snapshot.Node, findings []Finding) {
	since := map[string]time.Time{}
	for _, f := range findings {
		if f.Action != snapshot.RepairIgnore && (f.Object.Kind != "" || n.Initialized()) {
			since[f.key] = f.Since.UTC()
		}
	}
	text := ""
	if len(since) > 0 {
		b, err := json.Marshal(since)
		if err != nil {
			panic(err) // plain data
		}
		text = string(b)
	}
	if text != n.Claim.Annotations[SinceAnnotation] {
		d.Notes[n] = text
	}
}

// harmful reports whether the machine counts as unhealthy: it is to be repaired.
func (f *Finding) harmful() bool {
	return removes(f.Action) || f.Action == snapshot.RepairReboot
}

func removes(a snapshot.RepairAction) bool {
	return a == snapshot.RepairReplace || a == snapshot.RepairTerminate
}

// strength orders actions from the mildest.
func strength(a snapshot.RepairAction) int {
	return slices.Index([]snapshot.RepairAction{snapshot.RepairIgnore, snapshot.RepairAlert, snapshot.RepairReboot, snapshot.RepairReplace, snapshot.RepairTerminate}, a)
}

// findings are what is wrong with a machine, the one that decides first: of those
// that are due the one with the strongest action, else the one that will be due
// next.
func (d *decider) findings(n *snapshot.Node) []Finding {
	policy := d.policy(n)
	since := noted(n)
	out := append(d.conditions(n, policy, since), d.agents(n, policy, since)...)
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(d.rank(b), d.rank(a)),
			a.Due.Compare(b.Due),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

// rank is the strength of a finding that is due, and less than any of one that is
// not; what is ignored is least.
func (d *decider) rank(f Finding) int {
	switch {
	case f.Action == snapshot.RepairIgnore:
		return -2
	case d.s.Now.Before(f.Due):
		return -1
	}
	return strength(f.Action)
}

// conditions are those of the Node that mean harm.
func (d *decider) conditions(n *snapshot.Node, policy snapshot.Repair, noted map[string]time.Time) []Finding {
	var out []Finding
	for _, c := range n.Object.Status.Conditions {
		rule, found := match(policy.Conditions, c)
		if !found {
			rule, found = match(d.opts.Provider, c)
		}
		if !found {
			continue
		}
		since := c.LastTransitionTime.Time
		if joined := n.Object.CreationTimestamp.Time; since.Before(joined) {
			since = joined // the clock of its machine is behind
		}
		what := string(c.Type) + "=" + string(c.Status)
		since = first(noted, what, since)
		f := Finding{
			Name: string(c.Type), key: what, What: what, Since: since, Due: snapshot.Latest(since, rebooted(n.Claim)).Add(rule.Toleration),
			Action: cmp.Or(rule.Action, policy.Action),
		}
		if f.Action == snapshot.RepairReboot && !removes(policy.Action) {
			f.Action = policy.Action // it wants less
		}
		if rule.Reason != nil {
			f.What += " (" + c.Reason + ")"
		}
		out = append(out, f)
	}
	return out
}

func match(rules []snapshot.RepairCondition, c corev1.NodeCondition) (snapshot.RepairCondition, bool) {
	i := slices.IndexFunc(rules, func(r snapshot.RepairCondition) bool {
		return r.Type == c.Type && r.Status == c.Status && (r.Reason == nil || r.Reason.MatchString(c.Reason))
	})
	if i < 0 {
		return snapshot.RepairCondition{}, false
	}
	return rules[i], true
}
