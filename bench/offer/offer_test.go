package offer

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/workload"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// sized gives the small catalogue a numeric label, its vCPUs.
func sized() []*catalog.Type {
	types := fleet.Small()
	for _, t := range types {
		cpu := t.Capacity[corev1.ResourceCPU]
		t.Requirements = t.Requirements.With(requirement.Must("size", requirement.In, cpu.String()))
	}
	return types
}

func TestPoolRequirementsSelectOffers(t *testing.T) {
	for _, c := range []struct {
		operator corev1.NodeSelectorOperator
		values   []string
		want     int // of 6 families, 5 sizes (2, 4, 8, 16, 32), 3 zones
	}{
		{corev1.NodeSelectorOpIn, []string{"2", "4"}, 36},
		{corev1.NodeSelectorOpNotIn, []string{"2"}, 72},
		{corev1.NodeSelectorOpGt, []string{"8"}, 36},
		{karpv1.NodeSelectorOpGte, []string{"8"}, 54},
		{corev1.NodeSelectorOpLt, []string{"8"}, 36},
		{karpv1.NodeSelectorOpLte, []string{"8"}, 54},
		{corev1.NodeSelectorOpExists, nil, 90},
		{corev1.NodeSelectorOpDoesNotExist, nil, 0},
	} {
		p := &bench.Problem{Types: sized(), Pools: workload.OnePool()}
		p.Pools[0].Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
			{Key: "size", Operator: c.operator, Values: c.values},
		}
		offers, err := All(p)
		if err != nil || len(offers) != c.want {
			t.Errorf("%s %v: %d offers (%v), want %d", c.operator, c.values, len(offers), err, c.want)
		}
	}
}

func TestSoldOutOfferingsAreNotOffers(t *testing.T) {
	p := &bench.Problem{Types: sized(), Pools: workload.OnePool()}
	p.Types[0].Offerings[1].Available = false
	if offers, err := All(p); err != nil || len(offers) != 89 {
		t.Errorf("%d offers (%v), want 89", len(offers), err)
	}
}

func TestALabelThatATypeLeavesOpenMayNotBeAskedFor(t *testing.T) {
	p := &bench.Problem{Types: sized(), Pools: workload.OnePool()}
	p.Types[0].Requirements = p.Types[0].Requirements.With(requirement.Must("tenancy", requirement.In, "default", "dedicated"))
	if _, err := All(p); err != nil {
		t.Errorf("nobody asks for it, but: %v", err)
	}
	p.Pods = workload.Samples()["identical-small"].Problem(p.Types, 1).Pods
	p.Pods[0].Spec.NodeSelector = map[string]string{"tenancy": "default"}
	if _, err := All(p); err == nil || !strings.Contains(err.Error(), "tenancy") {
		t.Errorf("got %v, want a refusal that names the label", err)
	}
}

func TestRequestsCountInitContainersAndThePodItself(t *testing.T) {
	pod := workload.Samples()["identical-small"].Problem(fleet.Small(), 1).Pods[0].DeepCopy()
	pod.Spec.InitContainers = []corev1.Container{*pod.Spec.Containers[0].DeepCopy()}
	pod.Spec.InitContainers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	got := Requests(pod)
	if got[corev1.ResourceCPU] != 2000 || got[corev1.ResourcePods] != 1000 || got[corev1.ResourceMemory] != 256<<20*1000 {
		t.Errorf("got %v", got)
	}
}
