package state

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/awslabs/operatorpkg/status"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/catalog"

	"github.com/millwright-dev/millwright/internal/golden"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func world(t *testing.T) *looptest.Rig {
	an := metav1.NewTime(looptest.Noon.Add(-time.Hour))
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	np.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-a"}}}
	np.Spec.Limits = karpv1.Limits(list("cpu", "100", "example.com/gpu", "4"))
	np.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue}}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-a", UID: "claim-a", Labels: map[string]string{karpv1.NodePoolLabelKey: "general"}}}
	claim.Status.ProviderID = "kwok://a"
	claim.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	launching := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-b", UID: "claim-b", Labels: map[string]string{karpv1.NodePoolLabelKey: "general"}}}
	launching.Status.ProviderID = "kwok://b"
	launching.Status.Capacity = list("cpu", "2")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: an, Labels: map[string]string{
		karpv1.NodePoolLabelKey: "general", karpv1.NodeInitializedLabelKey: "true", karpv1.NodeRegisteredLabelKey: "true",
		corev1.LabelInstanceTypeStable: "small", corev1.LabelTopologyZone: "zone-a", karpv1.CapacityTypeLabelKey: "spot", corev1.LabelArchStable: "amd64",
	}}}
	node.Spec.ProviderID = "kwok://a"
	node.Status.Capacity, node.Status.Allocatable = list("cpu", "4", "memory", "8Gi"), list("cpu", "3900m", "memory", "7Gi")
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	pod := func(name, on string, phase corev1.PodPhase, owner string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: an}}
		p.Spec.NodeName, p.Status.Phase = on, phase
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: list("cpu", "500m"), Limits: list("cpu", "1")}}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "o", UID: "o"}}
		}
		return p
	}
	running := pod("web", "a", corev1.PodRunning, "ReplicaSet")
	running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	r := looptest.New(t, np, claim, launching, node, running,
		pod("daemon", "a", corev1.PodRunning, "DaemonSet"), pod("waiting", "", corev1.PodPending, ""), pod("done", "a", corev1.PodSucceeded, ""))
	r.Offered = []*catalog.Type{{Name: "small", Capacity: list("cpu", "4", "memory", "8Gi"), Offerings: []catalog.Offering{
		{Zone: "zone-a", CapacityType: "spot", Price: 0.25}, {Zone: "zone-a", CapacityType: "on-demand", Price: 1, Available: true},
		{Zone: "zone-b", CapacityType: "spot", Price: 0.2, Available: true}, // the pool does not allow it
	}}}
	return r
}

func TestTheStateIsExportedAsItIsWhenScraped(t *testing.T) {
	r := world(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(r.Deps))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&got, f); err != nil {
			t.Fatal(err)
		}
	}
	golden.Compare(t, "testdata/series.txt", got.String())
}

func TestThePriceOfAnOfferingIsTheLowestOfAnyPool(t *testing.T) {
	r := world(t)
	other := &karpv1.NodePool{}
	r.Must(r.Client.Get(t.Context(), types.NamespacedName{Name: "general"}, other))
	other.Name, other.ResourceVersion = "other", ""
	other.Spec.Template.Labels = map[string]string{"team": "blue"}
	overlay := &overlayv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "half"}, Spec: overlayv1alpha1.NodeOverlaySpec{
		Requirements:    []overlayv1alpha1.NodeSelectorRequirement{{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{"blue"}}},
		PriceAdjustment: new("-50%"),
	}}
	overlay.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue}, {Type: overlayv1alpha1.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue}}
	r.Store.Update(other)
	r.Store.Update(overlay)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(r.Deps))
	const want = `
# HELP karpenter_cloudprovider_instance_type_offering_price_estimate Price of an offering that a pool allows, in US dollars per hour; the lowest if NodeOverlays give pools different ones.
# TYPE karpenter_cloudprovider_instance_type_offering_price_estimate gauge
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="on-demand",instance_type="small",zone="zone-a"} 0.5
karpenter_cloudprovider_instance_type_offering_price_estimate{capacity_type="spot",instance_type="small",zone="zone-a"} 0.125
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "karpenter_cloudprovider_instance_type_offering_price_estimate"); err != nil {
		t.Error(err)
	}
}

func TestAPodIsTimedOnceFromItsCreation(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry, metrics.Build{})
	if err != nil {
		t.Fatal(err)
	}
	timer := newTimer(m)
	created := metav1.NewTime(looptest.Noon)
	pod := func(phase corev1.PodPhase, scheduled, ready time.Duration) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "x", CreationTimestamp: created}, Status: corev1.PodStatus{Phase: phase}}
		for conditionType, after := range map[corev1.PodConditionType]time.Duration{corev1.PodScheduled: scheduled, corev1.PodReady: ready} {
			if after > 0 {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: conditionType, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(looptest.Noon.Add(after))})
			}
		}
		return p
	}
	timer.see(pod(corev1.PodPending, 0, 0))
	timer.see(pod(corev1.PodPending, 3*time.Second, 0))
	timer.see(pod(corev1.PodRunning, 3*time.Second, 7*time.Second))
	timer.see(pod(corev1.PodRunning, 3*time.Second, 0))             // it fails its probe
	timer.see(pod(corev1.PodRunning, 3*time.Second, 9*time.Second)) // and recovers
	bound, started := sum(t, registry, "karpenter_pods_bound_duration_seconds"), sum(t, registry, "karpenter_pods_startup_duration_seconds")
	if bound != 3 || started != 7 {
		t.Errorf("bound after %v s, started after %v s; want 3 and 7", bound, started)
	}
	other := newTimer(m)
	other.see(pod(corev1.PodRunning, time.Second, time.Second)) // what was there before the process
	if got := sum(t, registry, "karpenter_pods_startup_duration_seconds"); got != 7 {
		t.Errorf("a pod that was ready before was counted: %v s", got)
	}
}

func sum(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				total += m.GetHistogram().GetSampleSum() + m.GetSummary().GetSampleSum()
			}
		}
	}
	return total
}
