package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// NotInitialized is the taint that keeps pods off a machine, by policy, until it is ready for
// work, or where it was not in time and is kept.
var NotInitialized = corev1.Taint{Key: snapshot.NotInitializedTaint, Effect: corev1.TaintEffectNoSchedule}

// initialize walks through the gates behind registration: Karpenter's, in its
// order, then our own.
func initialize(v View) Step {
	s := Step{Gates: passed(v, GateLaunched, GateNode, GateRegistered)}
	if len(v.Nodes) > 1 {
		r := plan.Reason{Code: plan.MultipleNodesFound, Objects: nodeRefs(v.Nodes), Want: v.Claim.ProviderID}
		s.Gates = append(s.Gates, Gate{Name: GateReady, Reason: r, Since: registeredAt(v, nil), Next: Next{Actor: Kubelet}})
		return wait(v, s, nil)
	}
	node := v.Nodes[0]
	for _, examine := range []func(View, *corev1.Node) Gate{
		ready, startupTaints, ephemeralTaints, resources, draDrivers, csiDrivers, conditions, daemonSets,
	} {
		g := examine(v, node)
		if !g.Open {
			g.Reason.Objects = append(nodeRefs(v.Nodes), g.Reason.Objects...)
			g.Reason.Since = g.Since
		}
		s.Gates = append(s.Gates, g)
	}
	if s.Blocker() != nil {
		return wait(v, s, node)
	}
	if node.Labels[InitializedLabel] != "true" {
		s.Node = &NodeChange{Claim: v.Claim, Labels: map[string]string{InitializedLabel: "true"}}
		if hasTaint(node.Spec.Taints, NotInitialized) {
			s.Node.RemoveTaints = []corev1.Taint{NotInitialized}
		}
	}
	for _, key := range []string{snapshot.RetainedAnnotation, snapshot.LackedAnnotation} {
		if v.Claim.Annotations[key] != "" {
			s.annotate(key, "")
		}
	}
	s.Conditions = []plan.Condition{done(snapshot.Initialized)}
	return s
}

// wait says what the machine waits for, and does what the policy demands of one
// that has waited for too long.
func wait(v View, s Step, node *corev1.Node) Step {
	for i := range s.Gates {
		if g := &s.Gates[i]; !g.Open {
			s.follow(v, node, g)
		}
	}
	s.watchTaint(v, node)
	s.open(v, node)
	s.admit(v, node)
	if !v.Claim.Is(snapshot.Initialized) {
		s.Conditions = []plan.Condition{s.waiting()}
	}
	return s
}

// admit lets pods onto a Node that keeps them off where it waits for nothing but those that it was
// launched for.
func (s *Step) admit(v View, node *corev1.Node) {
	waits := func(g Gate) bool { return !g.Open && g.Reason.Code != plan.PlannedPodsFirst }
	if node == nil || !hasTaint(node.Spec.Taints, NotInitialized) || slices.ContainsFunc(s.Gates, waits) {
		return
	}
	change := s.change(v)
	change.RemoveTaints = append(change.RemoveTaints, NotInitialized)
}

// follow takes a closed gate through its deadlines: its own, and that of the
// whole. What is due is done; the gate shows what comes next, or what came last.
func (s *Step) follow(v View, node *corev1.Node, g *Gate) {
	var deadlines []Next
	if g.Next.Then != NoAction {
		deadlines = append(deadlines, g.Next)
	}
	if v.Policy.Timeout != snapshot.Never && !v.Claim.Is(snapshot.Initialized) {
		deadlines = append(deadlines, Next{Actor: g.Next.Actor, Then: consequence(v.Policy.OnTimeout), At: registeredAt(v, node).Add(v.Policy.Timeout)})
	}
	slices.SortStableFunc(deadlines, func(a, b Next) int { return a.At.Compare(b.At) })
	for _, d := range deadlines {
		g.Next = d
		if v.Now.Before(d.At) {
			s.Wake = snapshot.Earliest(s.Wake, d.At)
			return
		}
		s.act(v, node, g)
	}
}

// act is what happens when a gate has stayed closed until its deadline.
func (s *Step) act(v View, node *corev1.Node, g *Gate) {
	if s.Overdue == nil {
		s.Overdue = g
	}
	switch {
	case g.Next.Then == GiveUp && s.Delete == "":
		s.Delete = InitializationTimedOut
		s.lacks(v)
		if g.Reason.Code == plan.StaleUninitializedTaint {
			s.Delete = StaleTaint
		}
	case node == nil:
	case g.Next.Then == Retain:
		if !hasTaint(node.Spec.Taints, NotInitialized) {
			s.change(v).AddTaints = []corev1.Taint{NotInitialized}
		}
		if v.Claim.Annotations[snapshot.RetainedAnnotation] == "" {
			s.annotate(snapshot.RetainedAnnotation, v.Now.UTC().Format(time.RFC3339))
			s.lacks(v)
		}
	case g.Next.Then == Alert:
		s.lacks(v)
	case g.Next.Then == RemoveTaint:
		s.change(v).RemoveTaints = []corev1.Taint{Uninitialized}
	}
}

// lacks names the resource that the machine waits for first, if it is one.
func (s *Step) lacks(v View) {
	if b := s.Blocker(); b.Name == GateResources && v.Claim.Annotations[snapshot.LackedAnnotation] != b.Reason.Want {
		s.annotate(snapshot.LackedAnnotation, b.Reason.Want)
	}
}

func (s *Step) annotate(key, value string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[key] = value
}

func (s *Step) change(v View) *NodeChange {
	if s.Node == nil {
		s.Node = &NodeChange{Claim: v.Claim}
	}
	return s.Node
}

// waiting is the condition of the first closed gate: Unknown while it may open by
// itself, False once it is overdue.
func (s *Step) waiting() plan.Condition {
	status := corev1.ConditionUnknown
	if s.Overdue != nil {
		status = corev1.ConditionFalse
	}
	g := s.Blocker()
	c := waiting(snapshot.Initialized, status, g.Reason)
	if then := g.Next.String(); then != "" {
		c.Message += "; " + then
	}
	return c
}

func consequence(c snapshot.Consequence) Action {
	switch c {
	case snapshot.Replace:
		return GiveUp
	case snapshot.Retain:
		return Retain
	}
	return Alert
}

// registeredAt is when a Node was taken over. One that was made anew starts over, and so does one
// that is rebooted: when that was requested, and when it has ended.
func registeredAt(v View, node *corev1.Node) time.Time {
	at := v.Claim.Conditions[snapshot.Registered].Since
	if reboot := v.Claim.Conditions[snapshot.Rebooting].Since; reboot.After(at) {
		at = reboot
	}
	if node != nil && node.CreationTimestamp.After(at) {
		return node.CreationTimestamp.Time
	}
	return at
}

func closed(name GateName, since time.Time, r plan.Reason, next Next) Gate {
	return Gate{Name: name, Since: since, Reason: r, Next: next}
}

func ready(_ View, node *corev1.Node) Gate {
	have := "no status yet"
	since := node.CreationTimestamp.Time
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		since, have = c.LastTransitionTime.Time, c.Reason
		if c.Status == corev1.ConditionTrue {
			return Gate{Name: GateReady, Open: true, Since: since}
		}
	}
	return closed(GateReady, since, plan.Reason{Code: plan.NodeNotReady, Have: have}, Next{Actor: Kubelet})
}

// conditions is closed by the first condition of the policy that does not hold.
func conditions(v View, node *corev1.Node) Gate {
	for _, want := range v.Policy.Conditions {
		have, since := "not reported", registeredAt(v, node)
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == want.Type })
		if i >= 0 {
			c := node.Status.Conditions[i]
			if c.Status == want.Status {
				continue
			}
			have, since = string(c.Status), c.LastTransitionTime.Time
			if c.Reason != "" {
				have += ", " + c.Reason
			}
		}
		r := plan.Reason{Code: plan.NodeConditionNotMet, Want: string(want.Type) + "=" + string(want.Status), Have: have}
		return closed(GateConditions, since, r, Next{Actor: ConditionOwner})
	}
	return Gate{Name: GateConditions, Open: true}
}
