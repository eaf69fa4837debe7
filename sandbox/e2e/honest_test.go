package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// honest looks every second at everything that is paid for. A machine that is not
// ready for work has a claim that says why, and says something that is true, or did
// within the last minute; so has one that is going away. It ends with the first
// that has not, or when told to.
func (c *cluster) honest(stop <-chan struct{}) error {
	wrong := map[string]time.Time{}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		faults := c.faults()
		for machine := range wrong {
			if faults[machine] == "" {
				delete(wrong, machine)
			}
		}
		for machine, fault := range faults {
			if wrong[machine].IsZero() {
				wrong[machine] = time.Now()
			}
			if time.Since(wrong[machine]) > time.Minute {
				return fmt.Errorf("for a minute, what is known of machine %s %s", machine, fault)
			}
		}
	}
}

// faults are what is wrong with what is known of machines, by the names of their
// claims.
func (c *cluster) faults() map[string]string {
	machines := c.machines()
	claims := map[string]*unstructured.Unstructured{}
	list := c.claims()
	for i := range list {
		claims[list[i].GetName()] = &list[i]
	}
	nodes := map[string]corev1.Node{}
	for _, n := range c.nodes() {
		if n.Annotations["sandbox.millwright.dev/twin-of"] == "" {
			nodes[n.Spec.ProviderID] = n
		}
	}
	out := map[string]string{}
	for i := range machines {
		var m struct{ Claim, State string }
		c.must(json.Unmarshal([]byte(machines[i].Data["machine.json"]), &m))
		switch claim := claims[m.Claim]; {
		case m.State == "shutting-down" || m.State == "gone":
		case claim == nil:
			out[m.Claim] = "is nothing: no claim has its name"
		default:
			id, _, _ := unstructured.NestedString(claim.Object, "status", "providerID")
			out[m.Claim] = dishonest(conditionsOf(claim), nodes[id], claim.GetDeletionTimestamp() != nil)
		}
	}
	return out
}

// dishonest says what is wrong with what the claim of a machine says; empty if
// nothing is.
func dishonest(conditions []claimCondition, node corev1.Node, going bool) string {
	kinds := []string{"Launched", "Registered", "Initialized"}
	if going {
		kinds = []string{"Drained", "VolumesDetached", "InstanceTerminating"}
	}
	for _, kind := range kinds {
		i := slices.IndexFunc(conditions, func(c claimCondition) bool { return c.kind == kind })
		if i < 0 {
			return "does not say whether it is " + kind
		}
		if c := conditions[i]; c.status != "True" {
			return untrue(c, node)
		}
	}
	return ""
}

// untrue says what is wrong with a reason; empty if nothing is.
func untrue(c claimCondition, node corev1.Node) string {
	switch cmp.Or(c.reason, "AwaitingReconciliation") {
	case "AwaitingReconciliation":
		return "does not say why it is not " + c.kind
	case "StartupTaintsExist", "KnownEphemeralTaintsExist", "StaleUninitializedTaint", "UndeclaredStartupTaint":
		if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return strings.Contains(c.message, t.ToString()) }) {
			return "names a taint that its node does not have: " + c.message
		}
	case "NodeNotFound":
		if c.kind == "Registered" && node.Labels["karpenter.sh/registered"] == "true" {
			return "says that its node is not there"
		}
	}
	return ""
}
