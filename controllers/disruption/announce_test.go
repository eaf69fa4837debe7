package disruption

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// A machine of a Balanced pool costs three times what its pod needs. That it is to be
// replaced is an event, that the new one is waited for, and that a pod that may not be
// disrupted calls it off.
func TestAConsolidationIsToldFromItsBeginningToItsEnd(t *testing.T) {
	large := *small
	large.Name = "large"
	large.Offerings = []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: 3, Available: true}}
	large.Requirements = requirement.NewSet(
		requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, "large"),
		requirement.Must(corev1.LabelTopologyZone, requirement.In, "a"),
		requirement.Must(catalog.CapacityTypeLabel, requirement.In, catalog.OnDemand),
	)
	claim, node := machine("a")
	for _, labels := range []map[string]string{claim.Labels, node.Labels} {
		labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone], labels[catalog.CapacityTypeLabel] = "large", "a", catalog.OnDemand
	}
	node.Status.Allocatable = large.Capacity
	web := podOn("a", "web")
	web.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}
	r := rig(t, pool(func(np *karpv1.NodePool) { np.Spec.Disruption.ConsolidationPolicy = "Balanced" }), claim, node, web)
	r.Offered = []*catalog.Type{small, &large}
	d := New(r.Deps, disruption.Options{})
	says := func(event string) {
		t.Helper()
		if !published(r, event) {
			t.Errorf("no event %q, only %q", event, r.Events.List)
		}
	}

	pass(t, r, d)
	says("Node/a ConsolidationCandidate: saves $2.00/h with small in its place")
	says("NodeClaim/claim-a ConsolidationCandidate")
	says("Node/a ConsolidationApproved")
	for range 2 {
		r.Clock.Step(disruption.SettleTime)
		pass(t, r, d)
	}
	fresh := comers(r)
	if len(fresh) != 1 {
		t.Fatalf("%d replacements", len(fresh))
	}
	says("NodeClaim/" + fresh[0].Name + " DisruptionWaitingReadiness: a goes once this machine is initialized")

	r.Get(web)
	web.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	r.Must(r.Client.Update(ctx, web))
	pass(t, r, d)
	says("Node/a ConsolidationRejected: pod/web -n default has the annotation")
}

func TestAPodIsToldOfItsProtection(t *testing.T) {
	claim, node := machine("a")
	web := podOn("a", "web")
	started := metav1.NewTime(looptest.Noon)
	web.Status.StartTime = &started
	web.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "30m"}
	wrong := podOn("a", "wrong")
	wrong.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "1d"}
	r := rig(t, pool(nil), claim, node, web, wrong)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	r.Clock.Step(31 * time.Minute)
	pass(t, r, d)
	for _, event := range []string{
		"Pod/web DoNotDisruptUntil: protected for 30m from its start, until 2026-03-11T12:30:00Z",
		"Pod/web DoNotDisruptGracePeriodElapsed",
		`Pod/wrong InvalidDoNotDisruptAnnotation: karpenter.sh/do-not-disrupt: "1d" protects nothing`,
	} {
		if !published(r, event) {
			t.Errorf("no event %q, only %q", event, r.Events.List)
		}
	}
}

// On a machine do-not-disrupt cannot be for a time, and what is neither true nor false is told,
// unless it is protected all the same.
func TestAMachineIsToldOfAProtectionThatIsNone(t *testing.T) {
	a, nodeA := machine("a")
	a.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "30m"}
	b, nodeB := machine("b")
	nodeB.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "TRUE"}
	c, nodeC := machine("c")
	c.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "yes"}
	nodeC.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	e, nodeE := machine("e")
	e.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "false"}
	r := rig(t, pool(nil), a, nodeA, b, nodeB, c, nodeC, e, nodeE)
	pass(t, r, New(r.Deps, disruption.Options{}))
	for _, event := range []string{
		`NodeClaim/claim-a InvalidDoNotDisruptAnnotation: karpenter.sh/do-not-disrupt: "30m" protects nothing: on a NodeClaim or Node only true does`,
		`Node/a InvalidDoNotDisruptAnnotation`,
		`Node/b InvalidDoNotDisruptAnnotation: karpenter.sh/do-not-disrupt: "TRUE" protects nothing`,
	} {
		if !published(r, event) {
			t.Errorf("no event %q, only %q", event, r.Events.List)
		}
	}
	for _, object := range []string{"Node/c", "NodeClaim/claim-c", "Node/e", "NodeClaim/claim-e"} {
		if published(r, object+" InvalidDoNotDisruptAnnotation") {
			t.Errorf("%s is told that nothing protects it", object)
		}
	}
}

// What holds the machines of a pool back is said of the pool, once for all of them.
func TestWhatHoldsAPoolBackIsToldOfThePool(t *testing.T) {
	a, nodeA := machine("a")
	b, nodeB := machine("b")
	r := rig(t, pool(func(np *karpv1.NodePool) { np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}} }), a, nodeA, b, nodeB)
	d := New(r.Deps, disruption.Options{})
	pass(t, r, d)
	if len(r.Events.List) != 1 || !published(r, `NodePool/general DisruptionBlocked: the disruption budget {nodes: "0"}`) {
		t.Errorf("events %q", r.Events.List)
	}
}
