package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/millwright-dev/millwright/engine/nomination"
)

// Pods of several sizes are planned tightly, onto few machines of two pools.
// Every pod must run on a machine of the class that was planned for it, and most get
// the very one. Where kube-scheduler tries pods between two Nodes of the plan it
// forgets their nominations, and a second launch may follow, which is logged.
func TestEveryPodRunsOnTheClassOfMachinePlannedForIt(t *testing.T) {
	t.Parallel()
	for name, workload := range map[string]string{
		"three sizes in two pools": deployment("small", "blue", 60, "500m", "1Gi") + "---" +
			deployment("large", "blue", 10, "3", "20Gi") + "---" +
			deployment("arm", "green", 40, "1", "2Gi"),
		"seven sizes": sevenSizes,
	} {
		t.Run(name, func(t *testing.T) {
			rightClass(newCluster(t), class+"---"+pool("blue", "amd64")+"---"+pool("green", "arm64"), workload)
		})
	}
}

var sevenSizes = deployment("a", "blue", 9, "7", "13Gi") + "---" +
	deployment("b", "blue", 11, "3500m", "26Gi") + "---" +
	deployment("c", "blue", 17, "1900m", "3Gi") + "---" +
	deployment("d", "blue", 23, "900m", "7Gi") + "---" +
	deployment("e", "blue", 40, "250m", "400Mi") + "---" +
	deployment("f", "blue", 5, "15", "20Gi") + "---" +
	deployment("g", "blue", 30, "100m", "2Gi")

// Nodes of one plan that take longer to become ready, or to lose a startup taint, than
// nominations are waited for are not registered before: each would then take pods for itself.
func TestNodesOfAPlanAreNotRegisteredBeforeTheyAreReady(t *testing.T) {
	t.Parallel()
	late := nomination.Grace + 2*time.Second
	c := newCluster(t)
	c.inject("node-ready-delay", late.String())
	c.inject("node-ready-spread", "2s")
	rightClass(c, class+"---"+pool("blue", "amd64"), sevenSizes)
	c.registeredAfter(func(n corev1.Node) time.Time {
		i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		return n.Status.Conditions[i].LastTransitionTime.Time
	})
}

func TestNodesOfAPlanAreNotRegisteredBeforeTheirStartupTaintsAreGone(t *testing.T) {
	t.Parallel()
	late := nomination.Grace + 2*time.Second
	c := newCluster(t)
	c.inject("agent-taint", cni)
	c.inject("agent-delay", late.String())
	pools := strings.Replace(pool("blue", "amd64"), "    spec:\n", "    spec:\n      startupTaints: [{key: example.com/cni, effect: NoExecute}]\n", 1)
	rightClass(c, class+"---"+pools, sevenSizes)
	c.registeredAfter(func(n corev1.Node) time.Time { return n.CreationTimestamp.Add(late) })
}

// registeredAfter checks that no Node of the first plan was registered before it might be.
func (c *cluster) registeredAfter(might func(corev1.Node) time.Time) {
	c.Helper()
	nodes, claims := c.nodes(), c.claims()
	slices.SortFunc(claims, func(a, b unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	for _, claim := range claims {
		if claim.GetCreationTimestamp().Sub(claims[0].GetCreationTimestamp().Time) > nomination.Together {
			break // for a pod that has lost its place
		}
		name, _, _ := unstructured.NestedString(claim.Object, "status", "nodeName")
		if registered, earliest := since(&claim, "Registered"), might(nodes[name]); registered.Before(earliest) {
			c.Errorf("%s was registered at %v, before %v", name, registered, earliest)
		}
	}
}

// since is when a condition of a claim became what it is, the zero time if it has none.
func since(claim *unstructured.Unstructured, kind string) (at time.Time) {
	list, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == kind {
			at, _ = time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
		}
	}
	return at
}

func rightClass(c *cluster, pools, workload string) {
	planned := c.plan(pools + "---" + workload)
	w := c.watchPods()
	c.manifests(pools)
	c.manifests(workload)
	c.eventually(time.Minute, func() error { return w.waiting(planned.pods) })
	c.millwright()
	c.eventually(90*time.Second, c.running("app", planned.pods))
	c.Log(w.summary())
	c.Logf("%d claims, %d were planned", len(c.claims()), planned.machines)
	nodes := c.nodes()
	for _, p := range c.pods("app") {
		labels := nodes[p.Spec.NodeName].Labels
		got := labels["karpenter.sh/nodepool"] + "/" + labels[corev1.LabelArchStable]
		if want := map[string]string{"blue": "blue/amd64", "green": "green/arm64"}[p.Spec.NodeSelector["team"]]; got != want {
			c.Errorf("pod %s was planned for a machine of %s and runs on one of %s", p.Name, want, got)
		}
	}
}
