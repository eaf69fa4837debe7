package provision

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"

	"github.com/millwright-dev/millwright/internal/golden"
)

const poolYAML = `
metadata: {name: general, uid: 5d7c1a54-30d5-4b8f-93c0-6f6f1a1a2b3c}
spec:
  weight: 10
  limits: {cpu: "8"}
  disruption: {consolidateAfter: 30s}
  template:
    metadata:
      labels: {team: web}
      annotations: {example.com/contact: web-oncall}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: example.com/generation, operator: Gte, values: ["5"]}
      - {key: example.com/rack, operator: Exists}
      - {key: node.kubernetes.io/instance-type, operator: Exists, minValues: 2}
      taints:
      - {key: example.com/web, effect: NoSchedule}
      startupTaints:
      - {key: example.com/agent, effect: NoExecute, value: starting}
      expireAfter: 720h
      terminationGracePeriod: 1h
`

func parsePool(t testing.TB, text string) *karpv1.NodePool {
	t.Helper()
	np := &karpv1.NodePool{}
	if err := yaml.UnmarshalStrict([]byte(text), np); err != nil {
		t.Fatal(err)
	}
	return np
}

func kind(name, cpu string, offerings ...catalog.Offering) *catalog.Type {
	return &catalog.Type{
		Name: name, Offerings: offerings,
		Requirements: requirement.NewSet(
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, name),
			requirement.Must(corev1.LabelArchStable, requirement.In, "amd64"),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, "zone-a", "zone-b"),
			requirement.Must(catalog.CapacityTypeLabel, requirement.In, "on-demand", "spot"),
		),
		Capacity: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110")},
	}
}

func offering(zone, capacityType string, price float64) catalog.Offering {
	return catalog.Offering{Zone: zone, CapacityType: capacityType, Price: price, Available: true}
}

// machine is a planned one in the pool above.
func machine() *plan.NewNode {
	small := kind("small-2x", "2", offering("zone-a", "spot", 0.02), offering("zone-b", "on-demand", 0.06))
	large := kind("large-4x", "4", offering("zone-a", "spot", 0.05))
	var classes snapshot.Classes
	pod := classes.Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "web-1"}})
	return &plan.NewNode{
		Pool: "general", Pods: []*snapshot.Pod{pod},
		Choice:       catalog.Choice{Type: small, Offering: &small.Offerings[0]},
		Alternatives: []catalog.Choice{{Type: small, Offering: &small.Offerings[0]}, {Type: large, Offering: &large.Offerings[0]}, {Type: small, Offering: &small.Offerings[1]}},
		Requirements: requirement.NewSet(
			requirement.Must(corev1.LabelArchStable, requirement.In, "amd64"),
			requirement.Must(corev1.LabelTopologyZone, requirement.In, "zone-a", "zone-b"),
			requirement.Must(corev1.LabelHostname, requirement.In, "made-up"),
			requirement.Must("example.com/generation", requirement.Gte, "5"),
			requirement.Must("example.com/generation", requirement.Lte, "9"),
			requirement.Must("example.com/rack", requirement.Exists),
			requirement.Must("example.com/tier", requirement.In, "gold", "silver"),
			requirement.Must("example.com/legacy", requirement.DoesNotExist),
			requirement.Must(corev1.LabelInstanceTypeStable, requirement.Exists).WithMinValues(2),
			requirement.Must("karpenter.sh/nodepool", requirement.In, "general"),
			requirement.Must("team", requirement.In, "web"),
		),
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("2Gi"), "pods": resource.MustParse("3")},
	}
}

func TestAClaimHasKarpentersShape(t *testing.T) {
	got, err := yaml.Marshal(Claim(parsePool(t, poolYAML), machine()))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/claim.yaml", string(got))
}

// Gte and Lte are not of the CRDs of Karpenter before 1.9, with which a pool can only have Gt and Lt.
func TestAClaimSaysBoundsInTheWordsOfEveryVersion(t *testing.T) {
	for _, tc := range []struct {
		op    requirement.Operator
		value string
		want  string
	}{
		{requirement.Gt, "5", "Gt [5]"},
		{requirement.Lt, "5", "Lt [5]"},
		{requirement.Gte, "1", "Gt [0]"},
		{requirement.Lte, "0", "Lt [1]"},
		{requirement.Gte, "0", "Gte [0]"}, // Gt takes no negative number
		{requirement.Lte, "9223372036854775806", "Lt [9223372036854775807]"},
		{requirement.NotIn, "5", "NotIn [5]"},
	} {
		n := &plan.NewNode{Requirements: requirement.NewSet(requirement.Must("example.com/generation", tc.op, tc.value))}
		got := requirements(n)
		if len(got) != 1 || fmt.Sprint(got[0].Operator, " ", got[0].Values) != tc.want {
			t.Errorf("%s %s: %v, want %s", tc.op, tc.value, got, tc.want)
		}
		back := requirement.Must(got[0].Key, requirement.Operator(got[0].Operator), got[0].Values...)
		if back.Exact() != n.Requirements[0].Exact() {
			t.Errorf("%s %s comes back as %s", tc.op, tc.value, back)
		}
	}
}

func TestLabelsOfCustomKeysSatisfyTheRequirements(t *testing.T) {
	n := machine()
	claim := Claim(parsePool(t, poolYAML), n)
	for _, r := range n.Requirements {
		v, has := claim.Labels[r.Key()]
		if has && !r.Has(v) || !has && custom(r.Key(), n) && !r.Absent() {
			t.Errorf("label %s is %q (there: %t), which does not satisfy %s", r.Key(), v, has, r)
		}
	}
}

func TestMachinesThatNeedOnlySomeValueOfALabelGetDifferentOnes(t *testing.T) {
	seen := map[string]bool{}
	var classes snapshot.Classes
	for i := range 100 {
		n := machine()
		name := fmt.Sprint("pod-", i)
		n.Pods = []*snapshot.Pod{classes.Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})}
		seen[Claim(parsePool(t, poolYAML), n).Labels["example.com/rack"]] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different values for 100 machines", len(seen))
	}
}

func TestAClaimListsTheCheapestSixHundredTypes(t *testing.T) {
	n := machine()
	n.Requirements = nil
	n.Alternatives = nil
	for i := range 1000 {
		k := kind(fmt.Sprintf("type-%03d", i), "2", offering("zone-a", "spot", float64(i)))
		n.Alternatives = append(n.Alternatives, catalog.Choice{Type: k, Offering: &k.Offerings[0]})
	}
	for _, r := range Claim(parsePool(t, poolYAML), n).Spec.Requirements {
		if r.Key == corev1.LabelInstanceTypeStable && (len(r.Values) != 600 || r.Values[599] != "type-599") {
			t.Errorf("%d types, the last is %s", len(r.Values), r.Values[len(r.Values)-1])
		}
	}
}

func TestAClaimNamesTheDriversThatItsPodsNeed(t *testing.T) {
	const name = snapshot.DevicePrefix + "class gpu"
	gpu := kind("gpu", "8", offering("zone-a", "spot", 1))
	gpu.Drivers = map[corev1.ResourceName][]string{name: {"b.example.com", "a.example.com"}}
	expected := &snapshot.Pod{Pod: &corev1.Pod{}, Class: &snapshot.Class{Requests: snapshot.Amounts{{Name: name}}}}
	choice := catalog.Choice{Type: gpu, Offering: &gpu.Offerings[0]}
	c := Claim(parsePool(t, poolYAML), &plan.NewNode{Pool: "general", Choice: choice, Alternatives: []catalog.Choice{choice}, Expected: []*snapshot.Pod{expected}})
	if got := c.Annotations["karpenter.sh/requested-dra-drivers"]; got != "a.example.com,b.example.com" {
		t.Errorf("drivers %q", got)
	}
}
