package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Three pools that differ in architecture and team, and a workload for each:
// whatever machine kube-scheduler picks among those of a pool, it must be of the
// class that the plan meant, and no second launch may follow.
func TestEveryPodRunsOnTheClassOfMachinePlannedForIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64") + "---" + pool("green", "arm64"))
	c.manifests(deployment("small", "blue", 60, "500m", "1Gi") + "---" +
		deployment("large", "blue", 10, "3", "20Gi") + "---" +
		deployment("arm", "green", 40, "1", "2Gi"))
	c.eventually(time.Minute, c.running("app in (small,large,arm)", 110))

	claims := c.claims()
	class := map[string]string{} // claim or node name -> pool and architecture
	for _, claim := range claims {
		class[claim.GetName()] = claim.GetLabels()["karpenter.sh/nodepool"] + "/" + claim.GetLabels()[corev1.LabelArchStable]
	}
	planned := c.nominations()
	for _, p := range c.pods("app") {
		name, ok := planned[p.Name]
		if !ok {
			t.Errorf("pod %s runs but was never nominated", p.Name)
			continue
		}
		if want, got := class[name], class[p.Spec.NodeName]; want != got || want == "" {
			t.Errorf("pod %s was planned for a machine of %q and runs on one of %q", p.Name, want, got)
		}
	}
	c.throughout(5*time.Second, func() error {
		if now := len(c.claims()); now != len(claims) {
			return fmt.Errorf("%d claims after every pod runs, there were %d: a second launch", now, len(claims))
		}
		return nil
	})
	for _, n := range c.nodes() {
		if !c.occupied(n.Name) {
			t.Errorf("node %s was launched for nothing", n.Name)
		}
	}
}

// nominations maps a pod to the claim or node that its Nominated event names.
func (c *cluster) nominations() map[string]string {
	c.Helper()
	events, err := c.client.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{FieldSelector: "reason=Nominated"})
	c.must(err)
	out := map[string]string{}
	for _, e := range events.Items {
		_, target, found := strings.Cut(e.Message, "nodeclaim/")
		if !found {
			_, target, _ = strings.Cut(e.Message, "node/")
		}
		out[e.InvolvedObject.Name], _, _ = strings.Cut(target, ",")
	}
	return out
}

func (c *cluster) occupied(node string) bool {
	for _, p := range c.pods("app") {
		if p.Spec.NodeName == node {
			return true
		}
	}
	return false
}
