package lifecycle

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// DRADriversAnnotation lists, separated by commas, the drivers whose devices the
// claim's pods use.
const DRADriversAnnotation = "karpenter.sh/requested-dra-drivers"

// initialize walks through the gates behind registration, in Karpenter's order.
func initialize(v View) Step {
	s := Step{Gates: passed(v, GateLaunched, GateNode, GateRegistered)}
	if len(v.Nodes) > 1 {
		r := plan.Reason{Code: plan.MultipleNodesFound, Objects: nodeRefs(v.Nodes), Want: v.Claim.ProviderID}
		s.Gates = append(s.Gates, Gate{Name: GateReady, Reason: r})
		s.Conditions = []plan.Condition{waiting(snapshot.Initialized, corev1.ConditionUnknown, r)}
		return s
	}
	node := v.Nodes[0]
	gates := []Gate{ready(node), startupTaints(v, node), ephemeralTaints(v, node), resources(v, node), draDrivers(v)}
	for i := range gates {
		if !gates[i].Open {
			gates[i].Reason.Objects = nodeRefs(v.Nodes)
		}
	}
	s.Gates = append(s.Gates, gates...)
	if i := slices.IndexFunc(gates, func(g Gate) bool { return !g.Open }); i >= 0 {
		s.Conditions = []plan.Condition{waiting(snapshot.Initialized, corev1.ConditionUnknown, gates[i].Reason)}
		return s
	}
	if node.Labels[InitializedLabel] != "true" {
		s.Node = &NodeChange{Claim: v.Claim, Labels: map[string]string{InitializedLabel: "true"}}
	}
	s.Conditions = []plan.Condition{done(snapshot.Initialized)}
	return s
}

func closed(name GateName, code plan.Code, since time.Time, want, have string) Gate {
	return Gate{Name: name, Since: since, Reason: plan.Reason{Code: code, Want: want, Have: have, Since: since}}
}

func ready(node *corev1.Node) Gate {
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
	return closed(GateReady, plan.NodeNotReady, since, "", have)
}

func startupTaints(v View, node *corev1.Node) Gate {
	return taints(v, node, GateStartupTaints, plan.StartupTaintsExist, func(t corev1.Taint) bool { return hasTaint(v.Claim.StartupTaints, t) })
}

func ephemeralTaints(v View, node *corev1.Node) Gate {
	return taints(v, node, GateEphemeralTaints, plan.KnownEphemeralTaintsExist, snapshot.KnownEphemeral)
}

// taints is closed by the first taint on the Node, by key, that blocks.
func taints(v View, node *corev1.Node, name GateName, code plan.Code, blocks func(corev1.Taint) bool) Gate {
	var on []corev1.Taint
	for _, t := range node.Spec.Taints {
		if blocks(t) {
			on = append(on, t)
		}
	}
	if len(on) == 0 {
		return Gate{Name: name, Open: true}
	}
	first := slices.MinFunc(on, func(a, b corev1.Taint) int { return strings.Compare(a.Key, b.Key) })
	since := v.Claim.Conditions[snapshot.Registered].Since
	if first.TimeAdded != nil {
		since = first.TimeAdded.Time
	}
	return closed(name, code, since, "", first.ToString())
}

// resources is closed by the first resource, by name, that the claim asks for and
// the Node does not have.
func resources(v View, node *corev1.Node) Gate {
	for _, name := range slices.Sorted(maps.Keys(v.Claim.Requests)) {
		want, have := v.Claim.Requests[name], node.Status.Allocatable[name]
		if !want.IsZero() && have.IsZero() {
			return closed(GateResources, plan.ResourceNotRegistered, v.Claim.Conditions[snapshot.Registered].Since, string(name), "")
		}
	}
	return Gate{Name: GateResources, Open: true}
}

// draDrivers is closed while a driver that the claim lists lacks slices.
func draDrivers(v View) Gate {
	for _, driver := range strings.Split(v.Claim.Annotations[DRADriversAnnotation], ",") {
		if driver = strings.TrimSpace(driver); driver != "" && !published(driver, v.Slices) {
			return closed(GateDRA, plan.DRADriverPoolsNotPublished, v.Claim.Conditions[snapshot.Registered].Since, driver, "")
		}
	}
	return Gate{Name: GateDRA, Open: true}
}

// published reports whether a driver has a pool of which all slices of the newest
// generation are there.
func published(driver string, slices []*resourcev1.ResourceSlice) bool {
	type state struct{ generation, have, want int64 }
	pools := map[string]state{}
	for _, s := range slices {
		if s.Spec.Driver != driver {
			continue
		}
		p := pools[s.Spec.Pool.Name]
		switch g := s.Spec.Pool.Generation; {
		case g > p.generation || p.have == 0:
			p = state{g, 1, s.Spec.Pool.ResourceSliceCount}
		case g == p.generation:
			p.have++
		}
		pools[s.Spec.Pool.Name] = p
	}
	for _, p := range pools {
		if p.have == p.want {
			return true
		}
	}
	return false
}
