package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

)

// Pods of several sizes are planned tightly, onto few machines. kube-scheduler
// must not put small pods where large ones were planned: every pod gets the
// machine that the plan counts on, and no second launch follows.
func TestAScaleOutNeedsOneLaunch(t *testing.T) {
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
		t.Run(name, func(t *testing.T) { oneLaunch(t, class+"---"+pool("blue", "amd64")+"---"+pool("green", "arm64"), workload) })
	}
}

func oneLaunch(t *testing.T, pools, workload string) {
	c := newCluster(t)
	planned := c.plan(pools + "---" + workload)
	w := c.watchPods()
	c.manifests(pools)
	c.manifests(workload)
	c.eventually(20*time.Second, func() error { return w.waiting(planned.pods) })
	c.millwright()
	c.eventually(time.Minute, c.running("app", planned.pods))
	t.Log(w.summary())
	c.throughout(3*time.Second, func() error {
		if now := len(c.claims()); now != planned.machines {
			return fmt.Errorf("%d claims, %d were planned", now, planned.machines)
		}
		return nil
	})
	for _, n := range c.nodes() {
		if !c.occupied(n.Name) {
			t.Errorf("node %s was launched for nothing", n.Name)
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

func (c *cluster) occupied(node string) bool {
	for _, p := range c.pods("app") {
		if p.Spec.NodeName == node {
			return true
		}
	}
	return false
}
