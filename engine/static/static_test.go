package static_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/limit"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/static"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// machine is one of pool p, made so many minutes ago, with so many pods; none are
// those of one that is still starting.
func machine(name string, minutes, pods int) *snapshot.Node {
	n := &snapshot.Node{Name: name, Claim: &snapshot.Claim{Name: name, Pool: "p", Created: noon.Add(-time.Duration(minutes) * time.Minute)}}
	if pods < 0 {
		return n
	}
	n.Object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{snapshot.InitializedLabel: "true"}}}
	var classes snapshot.Classes
	for range pods {
		n.Pods = append(n.Pods, classes.Pod(enginetest.Pod(name, 100, 100)))
	}
	return n
}

func TestAStaticPoolIsKeptAtItsNumber(t *testing.T) {
	gone := machine("gone", 1, 0)
	gone.Claim.Deleted = noon
	busy, idle, young, starting := machine("busy", 3, 2), machine("idle", 3, 0), machine("young", 1, 0), machine("starting", 1, -1)
	guarded, protected := machine("guarded", 9, 1), machine("protected", 8, 0)
	guarded.Pods[0].Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	cordoned := machine("cordoned", 9, 1)
	cordoned.Object.Spec.Unschedulable = true
	protected.Object.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	for name, tc := range map[string]struct {
		replicas, limit int64
		nodes           []*snapshot.Node
		standIn         map[string]*snapshot.Node
		notReady        string
		onTrial         bool
		launch          int
		remove          []string
	}{
		"none are there":                                     {replicas: 2, launch: 2},
		"enough are there":                                   {replicas: 2, nodes: []*snapshot.Node{busy, idle}},
		"one that is going does not count":                   {replicas: 2, nodes: []*snapshot.Node{busy, gone}, launch: 1},
		"the limit of nodes holds":                           {replicas: 5, limit: 3, nodes: []*snapshot.Node{busy, idle}, launch: 1},
		"the pool cannot launch":                             {replicas: 2, notReady: "no class"},
		"the pool is on trial":                               {replicas: 5, onTrial: true, nodes: []*snapshot.Node{busy}, launch: 1},
		"one is on trial already":                            {replicas: 5, onTrial: true, nodes: []*snapshot.Node{busy, starting}},
		"too many: first what is starting":                   {replicas: 3, nodes: []*snapshot.Node{busy, idle, starting, young}, remove: []string{"starting"}},
		"too many: then the youngest that is empty":          {replicas: 2, nodes: []*snapshot.Node{busy, idle, young}, remove: []string{"young"}},
		"too many: at last those with pods":                  {replicas: 0, nodes: []*snapshot.Node{busy, idle}, remove: []string{"idle", "busy"}},
		"too many: those that must not be disrupted go last": {replicas: 2, nodes: []*snapshot.Node{busy, guarded, idle, protected}, remove: []string{"idle", "busy"}},
		"too many: first what an operator has cordoned":      {replicas: 2, nodes: []*snapshot.Node{busy, idle, cordoned, starting}, remove: []string{"cordoned", "starting"}},
		"one that is going counts for the limit":             {replicas: 3, limit: 3, nodes: []*snapshot.Node{busy, idle, gone}},
		"a replacement does not count beside the old":        {replicas: 2, nodes: []*snapshot.Node{busy, idle, young}, standIn: map[string]*snapshot.Node{"young": busy}},
		"it does when the old one is going":                  {replicas: 2, nodes: []*snapshot.Node{busy, gone, young}, standIn: map[string]*snapshot.Node{"young": gone}},
	} {
		t.Run(name, func(t *testing.T) {
			p := enginetest.Pool("p", enginetest.Catalogue(4), enginetest.OnDemand())
			p.Replicas, p.NotReady, p.OnTrial = &tc.replicas, tc.notReady, tc.onTrial
			if tc.limit > 0 {
				p.Limits = corev1.ResourceList{"nodes": *resource.NewQuantity(tc.limit, resource.DecimalSI)}
			}
			launch, remove, short := static.Staff(&snapshot.Snapshot{Now: noon, Pools: []*snapshot.Pool{p}, Nodes: tc.nodes}, p, tc.standIn, limit.New(&snapshot.Snapshot{Now: noon, Pools: []*snapshot.Pool{p}, Nodes: tc.nodes}))
			var names []string
			for _, n := range remove {
				names = append(names, n.Name)
			}
			if missing := int(tc.replicas) - len(tc.nodes) - len(launch); missing > 0 && (short == nil || short.Missing < missing) {
				t.Errorf("%d machines are missing: %v", missing, short)
			}
			if len(launch) != tc.launch || !slices.Equal(names, tc.remove) {
				t.Errorf("launch %d, remove %v; want %d, %v", len(launch), names, tc.launch, tc.remove)
			}
		})
	}
}
