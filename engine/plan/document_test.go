package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func small() *Plan {
	pod := func(name string) *snapshot.Pod {
		return &snapshot.Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}}
	}
	offering := func(zone, capacityType string, price float64) *catalog.Offering {
		return &catalog.Offering{Zone: zone, CapacityType: capacityType, Price: price}
	}
	kind, other := &catalog.Type{Name: "m.large"}, &catalog.Type{Name: "m.xlarge"}
	choices := []catalog.Choice{
		{Type: kind, Offering: offering("b", "spot", 0.1)},
		{Type: kind, Offering: offering("a", "spot", 0.1)},
		{Type: other, Offering: offering("a", "on-demand", 0.3)},
	}
	lacking := Reason{
		Code: InsufficientResources, Objects: []ObjectRef{{Kind: "NodePool", Name: "main"}},
		Field: FieldRequests, Want: "cpu 9", Have: "cpu 8", Removed: 2, Total: 2,
		Nearest: &Miss{InstanceType: "m.xlarge", Zone: "a", CapacityType: "on-demand", Changes: []Constraint{
			{Code: InsufficientResources, Field: FieldRequests, Want: "cpu 9", Have: "cpu 8"}}},
	}
	return &Plan{
		NewNodes: []NewNode{{
			Pool: "main", Choice: choices[0], Alternatives: choices, Pods: []*snapshot.Pod{pod("a"), pod("b")},
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
		}},
		Placements: []Placement{{Pod: pod("c"), Node: &snapshot.Node{Name: "n1"}}},
		Unplaced: []Unplaced{
			{Pod: pod("d1"), Reasons: []Reason{lacking}}, {Pod: pod("d2"), Reasons: []Reason{lacking}},
			{Pod: pod("d3"), Reasons: []Reason{lacking}}, {Pod: pod("d4"), Reasons: []Reason{lacking}},
		},
		LowerBound: 0.08, Stats: Stats{Pods: 7, Classes: 4},
	}
}

func TestTheDocumentKeepsItsForm(t *testing.T) {
	p := small()
	p.Unplaced = p.Unplaced[:1]
	const want = `{
  "apiVersion": "millwright.dev/v1alpha1",
  "kind": "Plan",
  "newNodes": [
    {
      "pool": "main",
      "instanceType": "m.large",
      "zone": "b",
      "capacityType": "spot",
      "pricePerHour": 0.1,
      "pods": [
        "default/a",
        "default/b"
      ],
      "alternatives": [
        {
          "instanceType": "m.large",
          "zone": "b",
          "capacityType": "spot",
          "pricePerHour": 0.1
        },
        {
          "instanceType": "m.xlarge",
          "zone": "a",
          "capacityType": "on-demand",
          "pricePerHour": 0.3
        }
      ]
    }
  ],
  "placements": [
    {
      "pod": "default/c",
      "node": "n1"
    }
  ],
  "unplaced": [
    {
      "pod": "default/d1",
      "reasons": [
        {
          "code": "InsufficientResources",
          "message": "pool main: no machine has room for cpu 9; the most left for pods is 8 on m.xlarge",
          "objects": [
            {
              "kind": "NodePool",
              "name": "main"
            }
          ],
          "field": "spec.containers[].resources.requests",
          "want": "cpu 9",
          "have": "cpu 8",
          "nearest": {
            "instanceType": "m.xlarge",
            "zone": "a",
            "capacityType": "on-demand",
            "changes": [
              {
                "code": "InsufficientResources",
                "field": "spec.containers[].resources.requests",
                "want": "cpu 9",
                "have": "cpu 8"
              }
            ]
          }
        }
      ]
    }
  ],
  "totalPricePerHour": 0.1,
  "lowerBoundPerHour": 0.08,
  "stats": {
    "pods": 7,
    "classes": 4
  }
}
`
	var out strings.Builder
	if err := p.JSON(&out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("the document is\n%s", out.String())
	}
}

func TestAnEmptyPlanHasEmptyLists(t *testing.T) {
	var out strings.Builder
	if err := (&Plan{}).JSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"newNodes", "placements", "unplaced"} {
		if !strings.Contains(out.String(), `"`+list+`": []`) {
			t.Errorf("%s is not an empty list in\n%s", list, out.String())
		}
	}
}

func TestTheTableGroupsWhatIsAlike(t *testing.T) {
	const want = `NEW NODES   NODEPOOL   TYPE      ZONE   CAPACITY   PRICE/HOUR   PODS
1           main       m.large   b      spot       $0.10        default/a, default/b

NODE   PODS
n1     default/c

Cannot be placed:
  default/d1, default/d2, default/d3 and 1 more
    pool main: no machine has room for cpu 9; the most left for pods is 8 on m.xlarge

1 new node for 2 pods at $0.10/h, at most 25.0% above the lowest possible price; 1 pod on nodes that exist; 4 pods cannot be placed.
`
	var out strings.Builder
	if err := small().Table(&out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("the table is\n%s", out.String())
	}
}

func TestEveryReasonOfPlacementHasWordsOfItsOwn(t *testing.T) {
	for _, code := range []Code{
		NoPools, PoolNotReady, PoolStatic, NoInstanceTypes, ExcludedByPool, TaintNotTolerated, RequirementNotMet, InsufficientResources,
		VolumeLimitExceeded, HostPortTaken, OfferingUnavailable, LimitExceeded, MinValuesNotMet, ConstraintsInvalid, ConstraintUnsupported,
		VolumeClaimMissing, VolumeClaimUnusable, StorageClassMissing, TopologyNotSatisfiable,
		PodEnded, PodOfDaemonSet, PodOfNode, SchedulingGated, JobSuspended, Preempting, OptedOut, AwaitingScheduler, SchedulerDisagrees,
		ResizeDeferred, ResizeInfeasible,
	} {
		text := Reason{Code: code, Want: "what", Have: "that"}.Message()
		if text == "" || strings.Contains(text, string(code)) {
			t.Errorf("%s reads %q", code, text)
		}
	}
}
