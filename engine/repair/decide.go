package repair

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Options are what a decision depends on besides the snapshot.
type Options struct {
	// Provider are the conditions that mean harm on machines of this cloud. They hold
	// where a policy says nothing about a condition.
	Provider []snapshot.RepairCondition
	// Gate repairs the machines of pools without a policy as well, as Karpenter does:
	// its feature gate NodeRepair.
	Gate bool
}

// Do is what a command does.
type Do string

// What commands do.
const (
	// Ask: put the request for a replacement on the claim.
	Ask Do = "Ask"
	// Withdraw: take it off again.
	Withdraw Do = "Withdraw"
	// Terminate: delete the claim, with Deadline on it before that.
	Terminate Do = "Terminate"
	// Bound: put Deadline on the claim, whose machine is being drained.
	Bound Do = "Bound"
	// Reboot: put the request for a reboot on the claim.
	Reboot Do = "Reboot"
)

// Command is one thing to do.
type Command struct {
	Node *snapshot.Node
	Do   Do
	// Deadline ends the drain, for Terminate and Bound.
	Deadline time.Time
	// Finding is why, nil for Withdraw.
	Finding *Finding
}

// Unhealthy is the condition of a claim that shows its machine's verdict: True while
// something is wrong that the policy does not ignore.
const Unhealthy = "Unhealthy"

// Told reports whether it is told.
func (v *Verdict) Told() bool {
	return v.Reason.Code != plan.FindingIgnored && v.Reason.Code != plan.BeingDeleted
}

// Condition is how the claim shows a verdict that is told.
func (v *Verdict) Condition() plan.Condition {
	return plan.Condition{Type: Unhealthy, Status: corev1.ConditionTrue, Reason: string(v.Reason.Code), Message: v.Reason.Message()}
}

// Verdict is what holds for a machine that something is wrong with.
type Verdict struct {
	Node *snapshot.Node
	// Findings are what is wrong, the one that decides first; never empty.
	Findings []Finding
	// Action is what is done now; Ignore if nothing is.
	Action snapshot.RepairAction
	// Reason is why it is done, or why it is not. Its Until is when time alone may
	// change that.
	Reason plan.Reason
}

// Block says that repair is stopped for a pool, in whole or in part.
type Block struct {
	Pool   string
	Reason plan.Reason
}

// Decision is the answer to one snapshot.
type Decision struct {
	// Verdicts are by machine. A machine that is not there is healthy, or is not
	// watched.
	Verdicts []Verdict
	// Commands are in the order in which machines have their turn.
	Commands []Command
	// Well are the machines whose claims say that they are unhealthy, and that are not.
	Well []*snapshot.Node
	// Notes are what claims are to have as [SinceAnnotation], empty for none, where that is otherwise
	// now.
	Notes map[*snapshot.Node]string
	// Rebooting are the machines whose reboot is requested and has not ended, for [NextReboot], also
	// those that Karpenter has begun with and that are not to be repaired here.
	Rebooting []*snapshot.Node
	// Blocks are one for each pool where a machine that is due is not repaired because
	// of a breaker, by pool.
	Blocks []Block
	// Recheck is when time alone changes the answer; zero for never.
	Recheck time.Time
}

// decider is one decision in the making.
type decider struct {
	*Decision
	s    *snapshot.Snapshot
	opts Options
	// sick are the machines with findings, by machine.
	sick   map[*snapshot.Node][]Finding
	census map[string]*census // by pool
	common []common
}

// Decide judges every machine of a snapshot.
func Decide(s *snapshot.Snapshot, opts Options) *Decision {
	d := &decider{
		Decision: &Decision{Notes: map[*snapshot.Node]string{}}, s: s, opts: opts,
		sick: map[*snapshot.Node][]Finding{}, census: map[string]*census{},
	}
	d.examine()
	d.common = d.whatIsCommon()
	for _, n := range d.turns() {
		d.judge(n)
	}
	slices.SortFunc(d.Verdicts, func(a, b Verdict) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	slices.SortFunc(d.Blocks, func(a, b Block) int { return cmp.Compare(a.Pool, b.Pool) })
	return d.Decision
}

// policy is what holds for a machine.
func (d *decider) policy(n *snapshot.Node) snapshot.Repair {
	if p := d.s.Pool(n.Claim.Pool); p != nil {
		return p.Policy.Repair.Defaulted()
	}
	return snapshot.Repair{}.Defaulted()
}

// watched reports whether a machine may be repaired: it has joined, is not being
// restarted, and its policy or the gate wants it repaired.
func (d *decider) watched(n *snapshot.Node) bool {
	return !restart.Of(n.Claim).UnderWay() && n.Claim != nil && n.Object != nil && (d.opts.Gate || d.policy(n).On)
}

// examine finds out what is wrong with whom, and counts.
func (d *decider) examine() {
	for _, n := range d.s.Nodes {
		if n.Claim == nil {
			continue
		}
		if n.Object != nil && n.Claim.Is(snapshot.Rebooting) && !n.Deleting() {
			d.Rebooting = append(d.Rebooting, n)
		}
		var findings []Finding
		if d.watched(n) {
			findings = d.findings(n)
			d.count(n, findings)
		}
		d.note(n, findings)
		if len(findings) > 0 {
			d.sick[n] = findings
			continue
		}
		if wanted(n) && !n.Deleting() {
			d.Commands = append(d.Commands, Command{Node: n, Do: Withdraw})
		}
		if n.Claim.Is(Unhealthy) {
			d.Well = append(d.Well, n)
		}
	}
}

// wanted reports whether repair has asked for the machine's replacement.
func wanted(n *snapshot.Node) bool {
	return disruption.Requested(n.Claim).Cause == disruption.Unhealthy
}

// turns are the sick machines, those under repair first, then by when their action
// is due.
func (d *decider) turns() []*snapshot.Node {
	var out []*snapshot.Node
	for _, n := range d.s.Nodes {
		if d.sick[n] != nil {
			out = append(out, n)
		}
	}
	first := func(n *snapshot.Node) int {
		if wanted(n) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(a, b *snapshot.Node) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), d.sick[a][0].Due.Compare(d.sick[b][0].Due), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// judge gives a sick machine its verdict and what is to be done.
func (d *decider) judge(n *snapshot.Node) {
	f := &d.sick[n][0]
	v := Verdict{Node: n, Findings: d.sick[n], Action: snapshot.RepairIgnore}
	v.Reason = plan.Reason{Have: f.What, Since: f.Since}
	switch {
	case n.Deleting():
		v.Reason.Code = plan.BeingDeleted
		d.bound(n, f)
	case n.Claim.Is(snapshot.Rebooting):
		v.Action, v.Reason.Code = snapshot.RepairReboot, plan.Rebooting
	case f.Action == snapshot.RepairIgnore:
		v.Reason.Code = plan.FindingIgnored
		if n.Claim.Is(Unhealthy) {
			d.Well = append(d.Well, n)
		}
	case d.s.Now.Before(f.Due):
		v.Reason.Code, v.Reason.Want, v.Reason.Until = plan.FindingTolerated, string(f.Action), f.Due
		d.recheck(f.Due)
	case f.Action == snapshot.RepairAlert:
		v.Action, v.Reason.Code = f.Action, plan.FindingNoted
	default:
		v.Action, v.Reason = d.repair(n, f)
	}
	if v.Action == snapshot.RepairIgnore && wanted(n) && !n.Deleting() {
		d.Commands = append(d.Commands, Command{Node: n, Do: Withdraw})
	}
	v.Reason.Objects = append(v.Reason.Objects, objects(n, f)...)
	d.Verdicts = append(d.Verdicts, v)
}

// bound gives the drain of a machine that has been replaced a deadline.
func (d *decider) bound(n *snapshot.Node, f *Finding) {
	if !wanted(n) || n.Claim.Deleted.IsZero() {
		return
	}
	deadline := n.Claim.Deleted.Add(d.policy(n).DrainTimeout)
	if sooner(n.Claim, deadline) {
		d.Commands = append(d.Commands, Command{Node: n, Do: Bound, Deadline: deadline, Finding: f})
	}
}

// repair decides about a machine whose repair is due.
func (d *decider) repair(n *snapshot.Node, f *Finding) (snapshot.RepairAction, plan.Reason) {
	action, until := d.action(n, f)
	if reason, held := d.held(n, f, action); held {
		return snapshot.RepairIgnore, reason
	}
	if !underRepair(n, d.sick[n]) {
		d.censusOf(n).repairing++
	}
	switch {
	case action == snapshot.RepairTerminate:
		d.Commands = append(d.Commands, Command{Node: n, Do: Terminate, Deadline: d.s.Now, Finding: f})
	case action == snapshot.RepairReboot:
		d.Commands = append(d.Commands, Command{Node: n, Do: Reboot, Finding: f})
	case n.Claim.Annotations[disruption.RequestAnnotation] == "":
		d.Commands = append(d.Commands, Command{Node: n, Do: Ask, Finding: f})
	default: // requested, maybe for another cause
		d.recheck(until)
	}
	return action, plan.Reason{Code: plan.RepairDue, Want: string(action), Have: f.What, Since: f.Since, Until: until}
}

// action is what is done about a machine, and until when that is tried, also if the replacement
// was requested for another cause. Where no reboot is tried, or none any more, it is the policy's
// action. None can be requested for a machine that has not begun to work or belongs to no pool.
func (d *decider) action(n *snapshot.Node, f *Finding) (snapshot.RepairAction, time.Time) {
	action := f.Action
	if action == snapshot.RepairReboot {
		if d.mayReboot(n) {
			return action, time.Time{}
		}
		action = d.policy(n).Action
	}
	if action == snapshot.RepairTerminate || !n.Claim.Is(snapshot.Initialized) || d.s.Pool(n.Claim.Pool) == nil {
		return snapshot.RepairTerminate, time.Time{}
	}
	r := disruption.Requested(n.Claim)
	if r.Cause == "" {
		return snapshot.RepairReplace, time.Time{}
	}
	until := snapshot.Latest(r.At, f.Due).Add(d.policy(n).ReplaceTimeout) // it may have been requested before
	if !d.s.Now.Before(until) {
		return snapshot.RepairTerminate, time.Time{}
	}
	return snapshot.RepairReplace, until
}

func (d *decider) recheck(at time.Time) {
	if at.After(d.s.Now) && (d.Recheck.IsZero() || at.Before(d.Recheck)) {
		d.Recheck = at
	}
}
