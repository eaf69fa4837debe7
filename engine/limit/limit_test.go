package limit_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var (
	small = &catalog.Type{Name: "small", Image: "x86", Capacity: cpu("2")}
	large = &catalog.Type{Name: "large", Image: "arm", Capacity: cpu("4")}
)

func cpu(n string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(n)} }

func machine(c snapshot.Claim) *snapshot.Node {
	c.Name, c.Pool = "m", "p"
	return &snapshot.Node{Name: "m", Claim: &c}
}

func fits(l *limit.Ledger, n plan.NewNode) int {
	count := 0
	for range 20 {
		if _, over := l.Take(&n); !over {
			count++
		}
	}
	return count
}

func TestALedgerCountsEverythingThatExists(t *testing.T) {
	node := plan.NewNode{Pool: "p", Choice: catalog.Choice{Type: small}}
	flexible := node
	flexible.Alternatives = []catalog.Choice{{Type: small}, {Type: large}}
	launched := snapshot.Claim{ProviderID: "x", Capacity: cpu("2")}
	leaving := launched
	leaving.Deleted = time.Unix(1, 0)
	for name, tc := range map[string]struct {
		pool   snapshot.Pool
		nodes  []*snapshot.Node
		launch plan.NewNode
		want   int
	}{
		"no limits":                             {snapshot.Pool{}, nil, node, 20},
		"an exact fit":                          {snapshot.Pool{Limits: cpu("8")}, nil, node, 4},
		"what may become larger counts as that": {snapshot.Pool{Limits: cpu("8")}, nil, flexible, 2},
		"what runs counts":                      {snapshot.Pool{Limits: cpu("8")}, []*snapshot.Node{machine(launched)}, node, 3},
		"what is being deleted counts until it is gone": {snapshot.Pool{Limits: cpu("8")}, []*snapshot.Node{machine(leaving)}, node, 3},
		"what is not launched counts as the largest":    {snapshot.Pool{Limits: cpu("8")}, []*snapshot.Node{machine(snapshot.Claim{})}, node, 2},
		"nodes":                                {snapshot.Pool{Limits: corev1.ResourceList{"nodes": resource.MustParse("3")}}, []*snapshot.Node{machine(launched)}, node, 2},
		"nothing":                              {snapshot.Pool{Limits: cpu("0")}, nil, node, 0},
		"a resource that machines do not have": {snapshot.Pool{Limits: corev1.ResourceList{"example.com/gpu": resource.MustParse("0")}}, nil, node, 20},
		"a pool on trial":                      {snapshot.Pool{OnTrial: true}, nil, node, 1},
		"a pool on trial whose machine is starting": {snapshot.Pool{OnTrial: true}, []*snapshot.Node{machine(launched)}, node, 0},
		"an image on trial":                         {snapshot.Pool{TrialImages: []string{"x86"}}, nil, node, 1},
		"a resource on trial":                       {snapshot.Pool{TrialResources: []corev1.ResourceName{"example.com/gpu"}}, nil, plan.NewNode{Pool: "p", Choice: node.Choice, Requests: corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}}, 1},
		"a resource on trial that is not requested": {snapshot.Pool{TrialResources: []corev1.ResourceName{"example.com/gpu"}}, nil, node, 20},
		"another image than that on trial":          {snapshot.Pool{TrialImages: []string{"arm"}}, nil, node, 20},
	} {
		t.Run(name, func(t *testing.T) {
			tc.pool.Name, tc.pool.Types = "p", []*catalog.Type{small, large}
			l := limit.New(&snapshot.Snapshot{Pools: []*snapshot.Pool{&tc.pool}, Nodes: tc.nodes})
			if got := fits(l, tc.launch); got != tc.want {
				t.Errorf("%d machines fit, want %d", got, tc.want)
			}
		})
	}
}

func TestMachinesThatAreLaunchedTogetherAreBookedAllOrNone(t *testing.T) {
	l := limit.New(&snapshot.Snapshot{Pools: []*snapshot.Pool{{Name: "p", Limits: cpu("7")}}})
	two := []plan.NewNode{{Pool: "p", Choice: catalog.Choice{Type: large}}, {Pool: "p", Choice: catalog.Choice{Type: large}}}
	if reason, over := l.TakeAll(two); !over || reason.Have != "cpu would be 8 of 7" {
		t.Errorf("over %t: %+v", over, reason)
	}
	if _, over := l.TakeAll(two[:1]); over {
		t.Error("what was refused is booked")
	}
	flexible := []plan.NewNode{{Pool: "p", Choice: catalog.Choice{Type: small}, Alternatives: []catalog.Choice{{Type: small}, {Type: large}}}}
	if _, over := limit.New(&snapshot.Snapshot{Pools: []*snapshot.Pool{{Name: "p", Limits: cpu("3")}}}).TakeAll(flexible); over || len(flexible[0].Alternatives) != 1 {
		t.Errorf("over %t, alternatives %v: want those that there is room for", over, flexible[0].Alternatives)
	}
	if got := l.Within("p", []catalog.Choice{{Type: large}, {Type: small}}); len(got) != 1 || got[0].Type != small {
		t.Errorf("room for %v", got)
	}
}
