package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const budgetOfNone = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec:
  minAvailable: 3
  selector: {matchLabels: {app: web}}
`

func TestAPodDisruptionBudgetHoldsAnEvictionBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64") + "---" + deployment("web", "blue", 3, "1", "1Gi") + "---" + budgetOfNone)
	c.eventually(time.Minute, c.running("app=web", 3))

	claim := c.claims()[0].GetName()
	before := c.uids("app=web")
	c.must(c.dynamic.Resource(nodeClaims).Delete(t.Context(), claim, metav1.DeleteOptions{}))
	c.eventually(20*time.Second, func() error { return c.eventSays("FailedDraining", "web") })
	c.throughout(8*time.Second, func() error {
		if now := c.uids("app=web"); now != before {
			return fmt.Errorf("the pods changed under a budget that allows nothing: %s, were %s", now, before)
		}
		if _, ok := c.nodes()[claim]; !ok {
			return fmt.Errorf("node %s went with its pods on it", claim)
		}
		return c.running("app=web", 3)()
	})

	c.must(c.client.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	c.eventually(time.Minute, func() error {
		if _, ok := c.nodes()[claim]; ok {
			return fmt.Errorf("node %s is still there although nothing holds it", claim)
		}
		return c.running("app=web", 3)()
	})
	c.eventually(20*time.Second, c.accountedFor)
}

// uids are the pods' identities in one comparable value.
func (c *cluster) uids(selector string) string {
	c.Helper()
	var ids []string
	for _, p := range c.pods(selector) {
		ids = append(ids, string(p.UID))
	}
	return strings.Join(ids, " ")
}

func (c *cluster) eventSays(reason, text string) error {
	events, err := c.client.CoreV1().Events("").List(c.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if strings.Contains(e.Message, text) {
			return nil
		}
	}
	return fmt.Errorf("no event %s that says %q among %d", reason, text, len(events.Items))
}
