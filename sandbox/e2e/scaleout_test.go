package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Pods of several sizes are planned tightly, onto few machines of two pools.
// Whatever kube-scheduler makes of the nominations, every pod must run on a
// machine of the class that was planned for it.
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
	t.Logf("%s; %d claims, %d were planned", w.summary(), len(c.claims()), planned.machines)
	nodes := c.nodes()
	for _, p := range c.pods("app") {
		labels := nodes[p.Spec.NodeName].Labels
		got := labels["karpenter.sh/nodepool"] + "/" + labels[corev1.LabelArchStable]
		if want := map[string]string{"blue": "blue/amd64", "green": "green/arm64"}[p.Spec.NodeSelector["team"]]; got != want {
			t.Errorf("pod %s was planned for a machine of %s and runs on one of %s", p.Name, want, got)
		}
	}
}

// planned is what `millwright plan` says.
type planned struct{ machines, pods int }

// plan asks the command line about manifests.
func (c *cluster) plan(manifests string) planned {
	c.Helper()
	file := filepath.Join(c.dir, "manifests.yaml")
	c.must(os.WriteFile(file, []byte(manifests), 0o600))
	out, err := exec.CommandContext(c.Context(), binary("MILLWRIGHT_BIN", "millwright"), "plan", "--instance-types", "ec2", "-o", "json", "-f", file).Output()
	c.must(err)
	var answer struct {
		NewNodes []struct{ Pods []json.RawMessage } `json:"newNodes"`
	}
	c.must(json.Unmarshal(out, &answer))
	p := planned{machines: len(answer.NewNodes)}
	for _, n := range answer.NewNodes {
		p.pods += len(n.Pods)
	}
	if p.pods == 0 {
		c.Fatalf("the plan places no pods: %s", out)
	}
	return p
}
