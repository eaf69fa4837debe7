package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
		"seven sizes": deployment("a", "blue", 9, "7", "13Gi") + "---" +
			deployment("b", "blue", 11, "3500m", "26Gi") + "---" +
			deployment("c", "blue", 17, "1900m", "3Gi") + "---" +
			deployment("d", "blue", 23, "900m", "7Gi") + "---" +
			deployment("e", "blue", 40, "250m", "400Mi") + "---" +
			deployment("f", "blue", 5, "15", "20Gi") + "---" +
			deployment("g", "blue", 30, "100m", "2Gi"),
	} {
		t.Run(name, func(t *testing.T) {
			rightClass(t, class+"---"+pool("blue", "amd64")+"---"+pool("green", "arm64"), workload)
		})
	}
}

func rightClass(t *testing.T, pools, workload string) {
	c := newCluster(t)
	planned := c.plan(pools + "---" + workload)
	w := c.watchPods()
	c.manifests(pools)
	c.manifests(workload)
	c.eventually(time.Minute, func() error { return w.waiting(planned.pods) })
	c.millwright()
	c.eventually(90*time.Second, c.running("app", planned.pods))
	t.Log(w.summary())
	t.Logf("%d claims, %d were planned", len(c.claims()), planned.machines)
	nodes := c.nodes()
	for _, p := range c.pods("app") {
		labels := nodes[p.Spec.NodeName].Labels
		got := labels["karpenter.sh/nodepool"] + "/" + labels[corev1.LabelArchStable]
		if want := map[string]string{"blue": "blue/amd64", "green": "green/arm64"}[p.Spec.NodeSelector["team"]]; got != want {
			t.Errorf("pod %s was planned for a machine of %s and runs on one of %s", p.Name, want, got)
		}
	}
}
