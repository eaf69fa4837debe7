package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/placement/pending"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

// Cluster is a cluster and what the controller would decide about it now.
type Cluster struct {
	s       *snapshot.Snapshot
	plan    *plan.Plan
	decided *disruption.Decision
	options placement.Options
	wrap    func(*corev1.Pod) *snapshot.Pod
}

// Of asks the engine as the controller does that has these options. wrap gives pods their classes.
func Of(s *snapshot.Snapshot, options disruption.Options, wrap func(*corev1.Pod) *snapshot.Pod) *Cluster {
	return &Cluster{s, placement.Solve(s, options.Placement), disruption.Decide(s, options), options.Placement, wrap}
}

// shown is how many reasons are told in full, and how many fixes.
const shown = 8

// Pods says what becomes of pods, and if their scheduler has refused them before, that, unless it
// is the answer. Those that the snapshot leaves out are planned with the others if their scheduler has
// refused them since.
func (c *Cluster) Pods(pods []*corev1.Pod) []*Answer {
	out := make([]*Answer, len(pods))
	late := map[plan.ObjectRef]bool{}
	for i, pod := range pods {
		out[i] = becomes(c.s, c.plan, pod)
		late[plan.PodRef(pod)] = out[i] == nil
	}
	if slices.Contains(out, nil) {
		since := *c.s
		since.Pending = slices.DeleteFunc(slices.Clone(c.s.Pending), func(p *snapshot.Pod) bool { return late[plan.PodRef(p.Pod)] })
		since.Untried = nil
		for i, pod := range pods {
			if p := c.wrap(pod); out[i] == nil && nomination.WaitingSince(p).IsZero() {
				since.Untried = append(since.Untried, p)
			} else if out[i] == nil {
				since.Pending = append(since.Pending, p)
			}
		}
		planned := placement.Solve(&since, c.options)
		planned.Ignored = append(planned.Ignored, pending.Untried(&since)...)
		for i, pod := range pods {
			if out[i] == nil {
				out[i] = becomes(&since, planned, pod)
			}
		}
	}
	refused := map[plan.ObjectRef]plan.Reason{}
	for _, p := range c.s.Pending {
		if r, noted := nomination.Noted(p); noted {
			refused[plan.PodRef(p.Pod)] = r
		}
	}
	for _, a := range out {
		r, noted := refused[a.Object]
		if noted && !slices.ContainsFunc(a.Reasons, func(r plan.Reason) bool { return r.Code == plan.SchedulerDisagrees }) {
			a.say(fmt.Sprintf("Its scheduler has refused nodes with room for it since %s (SchedulerDisagrees): %q.", Stamp(r.Since), r.Have))
			a.Reasons = append(a.Reasons, r)
			a.Fixes = append(a.Fixes, Fix{What: r.Fix()})
		}
	}
	return out
}

// becomes says what a plan has for a pod; nil if it leaves out one that is not bound.
func becomes(s *snapshot.Snapshot, p *plan.Plan, pod *corev1.Pod) *Answer {
	is := func(p *snapshot.Pod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name }
	answer := func(v Verdict, format string, args ...any) *Answer {
		return &Answer{
			Object: plan.PodRef(pod), Verdict: v,
			Summary: []string{plan.PodRef(pod).String() + " " + fmt.Sprintf(format, args...)}, Reasons: []plan.Reason{}, Fixes: []Fix{},
		}
	}
	for _, list := range [][]plan.Unplaced{p.Unplaced, p.Ignored} {
		for i := range list {
			if is(list[i].Pod) {
				a := answer(Unplaced, "cannot be placed.")
				a.detail = "  " + strings.Join(plan.Messages(list[i].Reasons, shown), "\n  ") + "\n"
				a.blame(list[i].Reasons)
				a.trim()
				return a
			}
		}
	}
	for _, at := range p.Placements {
		if is(at.Pod) {
			if at.Node.Object == nil {
				return answer(NewNode, "gets a new node: nodeclaim/%s is being launched.", at.Node.Claim.Name).unlaunched(at.Node.Claim)
			}
			waits := ""
			if !at.Node.Initialized() {
				waits, _ = (&Machine{Claim: at.Node.Claim}).WaitsFor()
			}
			if waits == "" { // also where only the Node's label is still to come
				return answer(ExistingNode, "has room on node/%s; its scheduler has to bind it.", at.Node.Name)
			}
			a := answer(ExistingNode, "has room on node/%s, which is not ready: %s.", at.Node.Name, waits)
			if c := at.Node.Claim.Conditions[snapshot.Initialized]; c.Reason != "" {
				a.Reasons = append(a.Reasons, plan.Reason{Code: plan.Code(c.Reason), Objects: []plan.ObjectRef{plan.NodeRef(at.Node.Name)}})
			}
			a.Fixes = append(a.Fixes, Fix{What: "the node has to become ready", Commands: []string{"millwright why node/" + at.Node.Name}})
			return a
		}
	}
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		if slices.ContainsFunc(n.Pods, is) {
			key := n.Choice.Key()
			a := answer(NeedsNode, "needs a new node of nodepool/%s, which is not being launched yet: %s in %s, %s.", n.Pool, key.Type, key.Zone, key.CapacityType)
			a.Summary = append(a.Summary, plan.Overlaid(n.Choice)...)
			a.refused(s, p.NewNodes[:i+1])
			return a
		}
	}
	if pod.Spec.NodeName != "" {
		a := answer(Bound, "is bound to node/%s.", pod.Spec.NodeName)
		if r, ok := unsized(pod); ok {
			a.detail = "  " + r.Message() + "\n"
			a.blame([]plan.Reason{r})
		}
		return a
	}
	return nil
}

// unlaunched says of a pod that waits for a claim why its launch has failed, if it has.
func (a *Answer) unlaunched(claim *snapshot.Claim) *Answer {
	if r := lifecycle.Unlaunched(claim); r.Code == plan.LaunchFailed && !claim.Is(snapshot.Launched) {
		a.Summary = []string{fmt.Sprintf("%s waits for nodeclaim/%s: %s.", a.Object, claim.Name, r.Message())}
		a.Reasons = append(a.Reasons, r)
		a.Fixes = append(a.Fixes, Fix{What: "the launch has to succeed, or the NodeClaim is given up", Commands: []string{"millwright why nodeclaim/" + claim.Name}})
	}
	return a
}

// refused adds why the last of the machines of a plan is not launched although the plan has it: of
// a pool that is on trial, or has others on trial, one is at a time.
func (a *Answer) refused(s *snapshot.Snapshot, planned []plan.NewNode) {
	room := limit.New(s)
	var reason plan.Reason
	var over bool
	for _, n := range planned {
		reason, over = room.Take(&n)
	}
	if !over {
		return
	}
	pool := planned[len(planned)-1].Pool
	if trial, found := backoff.Worst(s.Pool(pool), s.Now); found {
		reason = trial
	}
	a.say(fmt.Sprintf("It waits for another one: %s.", reason.Message()))
	a.Reasons = append(a.Reasons, reason)
	a.Fixes = append(a.Fixes, Fix{What: "a machine of nodepool/" + pool + " has to become ready", Commands: []string{"millwright verify pool " + pool}})
}

// unsized is why the kubelet has not given a pod what it asks for, if it says so.
func unsized(pod *corev1.Pod) (plan.Reason, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodResizePending || c.Status != corev1.ConditionTrue {
			continue
		}
		code := plan.ResizeDeferred
		if c.Reason == corev1.PodReasonInfeasible {
			code = plan.ResizeInfeasible
		}
		return plan.Reason{Code: code, Objects: []plan.ObjectRef{plan.PodRef(pod), plan.NodeRef(pod.Spec.NodeName)}, Have: c.Message}, true
	}
	return plan.Reason{}, false
}

// blame takes the reasons and lists what would have to change, each once.
func (a *Answer) blame(reasons []plan.Reason) {
	a.Reasons = reasons
	add := func(text string) {
		known := slices.ContainsFunc(a.Fixes, func(f Fix) bool { return f.What == text })
		if text != "" && !known && len(a.Fixes) < shown {
			a.Fixes = append(a.Fixes, Fix{What: text})
		}
	}
	for _, r := range reasons {
		add(r.Fix())
		for _, with := range r.With {
			add(plan.Reason{Code: with.Code, Objects: r.Objects, Want: with.Want, Have: with.Have}.Fix())
		}
	}
}

// enough is how many fixes are worth reading for a pod when there are many pools.
const enough = 4

// trim keeps, of more fixes than are worth reading, those of the pools that are as near
// to taking the pod as the first, and sums up the rest.
func (a *Answer) trim() {
	if len(a.Fixes) <= enough {
		return
	}
	reasons, near := a.Reasons, min(len(a.Reasons), enough)
	if farther := slices.IndexFunc(reasons, func(r plan.Reason) bool { return r.Farther(reasons[0]) != 0 }); farther >= 0 {
		near = min(near, farther)
	}
	a.Fixes = []Fix{}
	a.blame(reasons[:near])
	a.Reasons = reasons
	if rest := len(reasons) - near; rest > 0 {
		a.Fixes = append(a.Fixes, Fix{What: fmt.Sprintf("or what stands in the way in %d other pools, none of which is closer to taking the pod", rest)})
	}
}

// although is why a machine should be replaced that stays.
var although = map[disruption.Cause]string{disruption.Drifted: " although it has drifted", disruption.Expired: " although it has expired"}

// Machine adds to the answer about a machine that works why it goes or stays.
func (c *Cluster) Machine(a *Answer) {
	v, ok := c.decided.Verdict(a.NodeClaim)
	if !ok {
		return
	}
	claim := v.Node.Claim
	said := claim.Conditions[disruption.Disruptable]
	if v.Disrupting && !claim.Is(snapshot.DisruptionReason) && said.Status == corev1.ConditionFalse {
		// It is not marked: the controller knows what no object says, such as what the cloud refused.
		a.say(fmt.Sprintf("It may go (%s), but the controller reported last that it stays (%s): %s.", v.Cause, said.Reason, said.Message))
		a.blame([]plan.Reason{{Code: plan.Code(said.Reason)}})
		return
	}
	a.Since, a.NextCheck, a.SavingPerHour = v.Reason.Since.UTC(), v.Reason.Until.UTC(), v.Saving
	if v.Disrupting {
		a.Verdict, a.Reasons = Disrupting, []plan.Reason{v.Reason}
		a.say(fmt.Sprintf("It %s.", v.Reason.Message()))
		return
	}
	a.say(fmt.Sprintf("It stays%s (%s): %s.", although[v.Cause], v.Reason.Code, v.Reason.Message()))
	if !a.Since.IsZero() {
		a.say(fmt.Sprintf("That has been so since %s.", Stamp(a.Since)))
	}
	if !a.NextCheck.IsZero() {
		a.say(fmt.Sprintf("It is considered again at %s.", Stamp(a.NextCheck)))
	}
	if v.Saving > 0 {
		a.say(fmt.Sprintf("Without that, %s could be saved.", plan.PerHour(v.Saving)))
	}
	if p := c.s.Pool(claim.Pool); p != nil {
		if bought, known := disruption.Bought(p, v.Node); known {
			a.Summary = append(a.Summary, plan.Overlaid(bought)...)
		}
	}
	a.blame([]plan.Reason{v.Reason})
}

// bounds adds to the answer about a pool what its limits and its disruption budgets leave, or why
// they do not matter now.
func (c *Cluster) bounds(a *Answer, p *snapshot.Pool) (held []plan.Reason) {
	var limits []string
	used := limit.New(c.s).Used(p.Name)
	for _, resource := range slices.Sorted(maps.Keys(p.Limits)) {
		has, most := used[resource], p.Limits[resource]
		limits = append(limits, fmt.Sprintf("%s %s of %s", resource, has.String(), most.String()))
	}
	if len(limits) > 0 {
		a.say(fmt.Sprintf("Limits: %s.", strings.Join(limits, ", ")))
	}
	if r, ok := disruption.Held(p, c.s.Now); ok {
		a.say(fmt.Sprintf("No voluntary disruption begins now: %s.", r.Message()))
		return []plan.Reason{r}
	}
	causes := map[string][]string{}
	for _, allowed := range c.decided.Allowances {
		if allowed.Pool == p.Name && allowed.Allowed != disruption.Unlimited {
			left := fmt.Sprintf("%d of %s", allowed.Remaining(), plan.Count(allowed.Nodes, "node"))
			causes[left] = append(causes[left], string(allowed.Cause))
		}
	}
	for _, left := range slices.Sorted(maps.Keys(causes)) {
		a.say(fmt.Sprintf("Disruption budgets: %s may be disrupted now as %s.", left, strings.Join(causes[left], ", ")))
	}
	return nil
}

// lacking lists what keeps offerings that a pool allows from being sold other than the cloud's
// capacity.
func lacking(p *snapshot.Pool) []string {
	allows := func(key, value string) bool {
		r, ok := p.Requirements.Lookup(key)
		return !ok || r.Has(value)
	}
	var out []string
	for _, t := range p.Types {
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Lacks != "" && !slices.Contains(out, o.Lacks) && allows(corev1.LabelTopologyZone, o.Zone) && allows(catalog.CapacityTypeLabel, o.CapacityType) {
				out = append(out, o.Lacks)
			}
		}
	}
	slices.Sort(out)
	return out
}

// cost says what nodes of a pool cost of which some have no price that is known, as none is known
// but by instance types that a pool which is not ready lacks.
func cost(p *snapshot.Pool, price float64, nodes, unpriced int) string {
	switch {
	case unpriced == 0:
		return " for " + plan.PerHour(price)
	case unpriced == nodes && p.NotReady != "":
		return "; what it costs is not known while it is not ready"
	case unpriced == nodes:
		return "; what it costs is not known"
	}
	return fmt.Sprintf(" for %s, not counting %d whose price is not known", plan.PerHour(price), unpriced)
}

// Pool counts the verdicts of a pool's machines and says what its budgets allow; an
// error says that there is none of that name.
func (c *Cluster) Pool(name string) (*Answer, error) {
	p := c.s.Pool(name)
	if p == nil {
		return nil, fmt.Errorf("nodepool/%s does not exist", name)
	}
	byCode, price, count, unpriced := map[plan.Code][]disruption.Verdict{}, 0.0, 0, 0
	for _, v := range c.decided.Verdicts {
		if v.Node.Pool() == name {
			byCode[v.Reason.Code] = append(byCode[v.Reason.Code], v)
			one := disruption.Price(p, v.Node)
			price += one
			count++
			if one == 0 {
				unpriced++
			}
		}
	}
	a := &Answer{
		Object: plan.PoolRef(name), Verdict: Ready, Machines: map[plan.Code]int{}, Reasons: []plan.Reason{}, Fixes: []Fix{},
		Summary: []string{fmt.Sprintf("nodepool/%s has %s%s.", name, plan.Count(count, "node"), cost(p, price, count, unpriced))},
	}
	reasons := []plan.Reason{}
	why := p.Closed()
	if why != "" {
		a.Verdict = NotReady
		a.say(fmt.Sprintf("It launches nothing: %s.", why))
		reasons = append(reasons, plan.Reason{Code: plan.PoolNotReady, Objects: []plan.ObjectRef{a.Object}, Have: why})
	}
	if lacks := lacking(p); len(lacks) > 0 {
		a.say(fmt.Sprintf("Some of its machines cannot be had, for want of: %s.", strings.Join(lacks, "; ")))
	}
	launch, _, short := static.Staff(c.s, p, disruption.Replacing(c.s), limit.New(c.s))
	if len(launch) > 0 {
		a.launches = true
		a.say(fmt.Sprintf("%d of %s to be launched.", len(launch), plan.Count(int(*p.Replicas), "machine")))
	}
	if short != nil {
		a.say(short.String() + ".")
	}
	reasons = append(reasons, c.bounds(a, p)...)
	for i, code := range slices.Sorted(maps.Keys(byCode)) {
		if i == 0 {
			a.detail = "Verdicts:\n"
		}
		a.Machines[code] = len(byCode[code])
		if i < shown {
			first := byCode[code][0]
			a.detail += fmt.Sprintf("  %3d %s, such as %s: %s\n", len(byCode[code]), code, first.Node.Name, first.Reason.Message())
			reasons = append(reasons, first.Reason)
		}
	}
	// The fix for a machine that stays because the pool is closed is to ask this question.
	a.blame(slices.DeleteFunc(slices.Clone(reasons), func(r plan.Reason) bool {
		return r.Code != plan.PoolNotReady && why != "" && r.Have == why
	}))
	a.Reasons = reasons
	return a, nil
}
