package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const overZones = `{"defaultConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}]`

// spreadByDefault configures kube-scheduler.
const spreadByDefault = `profiles: [{schedulerName: default-scheduler, pluginConfig: [{name: PodTopologySpread, args: ` + overZones + `, "defaultingType": "List"}}]}]`

const served = `
apiVersion: v1
kind: Service
metadata: {name: crawl, namespace: default}
spec: {selector: {app: crawl}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: crawl, namespace: default}
spec:
  parallelism: 3
  template:
    metadata: {labels: {app: crawl}}
    spec:
      restartPolicy: Never
      nodeSelector: {team: web}
      containers: [{name: main, image: example.com/crawl, resources: {requests: {cpu: "1", memory: 1Gi}}}]
`

// dedicated is a Node that takes no pods, and whose zone is compared with others.
func dedicated(zone string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Node
metadata: {name: dedicated-%[1]s, labels: {team: web, topology.kubernetes.io/zone: %[1]s, kubernetes.io/hostname: dedicated-%[1]s}}
spec: {taints: [{key: dedicated, effect: NoSchedule}]}
`, zone)
}

// Pods that state no spread, which kube-scheduler spreads by default, get machines in the zones that
// it asks for: those of a Deployment, and those of a Job of which a Service tells who they are.
func TestPodsAreSpreadByKubeSchedulersDefault(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--scheduler-config", spreadByDefault)
	c.manifests(class + "---" + pool("web", "arm64") + binding("millwright-default-spread") + dedicated("us-east-1b") + dedicated("us-east-1c"))
	c.millwrightWith([]string{`SCHEDULER_CONFIG={"podTopologySpread": ` + overZones + `}}`})
	c.manifests(deployment("web", "web", 3, "1", "1Gi") + "---" + served)
	c.eventually(patience, c.running("app=web", 3))
	c.eventually(patience, c.running("app=crawl", 3))
	c.throughout(5*time.Second, func() error {
		for _, app := range []string{"web", "crawl"} {
			if zones := c.zonesOf("app=" + app); len(zones) != 3 {
				return fmt.Errorf("the pods of %s are in the zones %v, want one in each of three", app, zones)
			}
		}
		return nil
	})
}

// zonesOf counts the nodes with pods of a selector by zone.
func (c *cluster) zonesOf(selector string) map[string]int {
	c.Helper()
	nodes, err := c.client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	zones := map[string]string{}
	for _, n := range nodes.Items {
		zones[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	out := map[string]int{}
	for _, node := range c.nodesOf(selector) {
		out[zones[node]]++
	}
	return out
}
