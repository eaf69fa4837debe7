package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// A hundred nodes with thirty pods each are taken away at once. One of them has a
// pod that may never be evicted: it waits alone. Seconds and requests are printed.
func TestAHundredNodesDrainSideBySide(t *testing.T) {
	if !*long {
		t.Skip("takes minutes of CPU time; go test ./e2e -run SideBySide -long")
	}
	const nodes, podsEach = 100, 30
	c := newCluster(t)
	controller := c.millwright()
	c.manifests(class)
	for i := range nodes {
		c.manifests(loneClaim(fmt.Sprintf("lone-%d", i)))
	}
	c.eventually(patience, func() error { return c.initialized(nodes) })
	c.manifests(budgetOfOne)
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() { c.occupy(fmt.Sprintf("lone-%d", i), podsEach) })
	}
	wg.Wait()
	c.eventually(patience, c.running("filler", nodes*podsEach))

	const sent, cpu = "rest_client_requests_total", "process_cpu_seconds_total"
	requests, seconds := c.metric(controller, sent), c.metric(controller, cpu)
	began := time.Now()
	for i := range nodes {
		wg.Go(func() {
			if err := c.dynamic.Resource(nodeClaims).Delete(t.Context(), fmt.Sprintf("lone-%d", i), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var first, half time.Duration
	c.eventually(5*time.Minute, func() error {
		left := len(c.nodes())
		switch {
		case left < nodes && first == 0:
			first = time.Since(began)
		case left <= nodes/2 && half == 0:
			half = time.Since(began)
		}
		if left > 1 {
			return fmt.Errorf("%d nodes are left", left)
		}
		return nil
	})
	all := time.Since(began)
	if err := c.without("lone-0"); err == nil {
		t.Error("the node whose pod may not be evicted has gone")
	}
	requests, seconds = c.metric(controller, sent)-requests, c.metric(controller, cpu)-seconds
	t.Logf("%d nodes, %d pods: the first node gone after %v, half after %v, all but the blocked one after %v; %.0f requests to the API server, %.2f for each pod; %.1f s of the controller's CPU time",
		nodes, nodes*podsEach, first.Round(time.Second/10), half.Round(time.Second/10), all.Round(time.Second/10), requests, requests/(nodes*podsEach), seconds)
}

func loneClaim(name string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s}
spec:
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.2xlarge]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`, name)
}

const budgetOfOne = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: blocked, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {blocked: ""}}}
`

func (c *cluster) initialized(n int) error {
	ready := 0
	for _, node := range c.nodes() {
		if node.Labels["karpenter.sh/initialized"] == "true" {
			ready++
		}
	}
	if ready < n {
		return fmt.Errorf("%d of %d nodes are initialized", ready, n)
	}
	return nil
}

// occupy puts pods onto a node by name; the first of the first node is guarded by
// the budget.
func (c *cluster) occupy(node string, pods int) {
	for i := range pods {
		labels := map[string]string{"filler": ""}
		if node == "lone-0" && i == 0 {
			labels["blocked"] = ""
		}
		if err := c.pinned(fmt.Sprintf("%s-%d", node, i), node, labels); err != nil {
			c.Error(err)
		}
	}
}

// metric is the sum of a metric's series.
func (c *cluster) metric(controller *harness.Controller, name string) float64 {
	c.Helper()
	resp, err := http.Get(controller.Metrics)
	c.must(err)
	defer resp.Body.Close()
	total := 0.0
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") {
			n, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
			c.must(err)
			total += n
		}
	}
	return total
}
