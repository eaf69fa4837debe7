package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	replicas   = 20
	detachTime = 20 * time.Second
	// recovery is how long a replica may be away: its volume has to be detached, and
	// everything else has half a minute.
	recovery = detachTime + 30*time.Second
)

// Twenty databases with a volume each, and every way in which their machines can
// go. Every database comes back in time, no volume is ever attached twice, none
// stays behind, and the driver's node plugin outlives the last volume of its node
// whether its DaemonSet tolerates the disrupted taint or not. Some of the ways only
// go with -long.
func TestVolumesFollowTheirPodsWhicheverWayANodeGoes(t *testing.T) {
	ways := map[string]func(*cluster, *audit){
		"deletion, death, interruption, drift": byHand, "expiry": byAge, "consolidation": byPrice,
	}
	for name, way := range ways {
		for plugin, toleration := range map[string]string{
			"plugin tolerates the taint": "- {key: karpenter.sh/disrupted, operator: Exists}",
			"plugin does not":            "- {key: example.com/other, operator: Exists}",
		} {
			tolerates := !strings.Contains(toleration, "example.com")
			if !*long && (name == "expiry" || name == "consolidation" && tolerates) {
				continue
			}
			t.Run(name+", "+plugin, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, "--node-failure-fast", "--set", "detach-delay="+detachTime.String())
				c.millwright()
				books := c.audit()
				c.manifests(class + "---" + nodePlugin(toleration))
				way(c, books)
				c.eventually(patience, c.accountedFor)
				c.eventually(patience, c.pluginsAreWhereNodesAre)
				books.close()
				if !tolerates {
					c.must(c.eventSays("MissingToleration", "karpenter.sh/disrupted"))
				}
			})
		}
	}
}

// byHand takes away a claim, a Node and a machine's life at once, while the cloud
// announces that it takes a fourth machine; then makes all machines drift, then takes
// their pool.
func byHand(c *cluster, books *audit) {
	c.manifests(databasePool("first", "") + "---" + databases("1500m"))
	c.eventually(patience, c.running("app=db", replicas))
	nodes := c.nodesOf("app=db")
	if len(nodes) < 4 {
		c.Fatalf("only %d nodes, which shows little", len(nodes))
	}
	books.comeBack("deletion of a claim and of a Node, death and interruption of a machine", nodes[:4], func() {
		c.must(c.dynamic.Resource(nodeClaims).Delete(c.Context(), nodes[0], metav1.DeleteOptions{}))
		c.must(c.client.CoreV1().Nodes().Delete(c.Context(), nodes[1], metav1.DeleteOptions{}))
		books.dies(nodes[2])
		c.takeAway(nodes[2], nodes[3])
	})
	books.comeBack("drift", c.nodesOf("app=db"), func() {
		c.manifests(strings.Replace(databasePool("first", ""), "{tier: db}", "{tier: db, generation: second}", 1))
	})
	c.manifests(databasePool("second", ""))
	books.comeBack("deletion of a pool", c.nodesOf("app=db"), func() {
		c.must(c.dynamic.Resource(nodePools).Delete(c.Context(), "first", metav1.DeleteOptions{}))
	})
}

// byAge lets all machines grow too old.
func byAge(c *cluster, books *audit) {
	c.manifests(databasePool("first", "expireAfter: 2m") + "---" + databases("1500m"))
	c.eventually(100*time.Second, c.running("app=db", replicas))
	books.comeBack("expiry", c.nodesOf("app=db"), func() {})
}

// byPrice takes away what filled the machines beside the databases.
func byPrice(c *cluster, books *audit) {
	c.manifests(strings.Replace(databasePool("first", ""), "consolidateAfter: Never", "consolidateAfter: 1s, consolidationPolicy: WhenEmptyOrUnderutilized", 1))
	c.manifests(databases("300m"))
	c.manifests(strings.Replace(deployment("filler", "x", replicas, "1200m", "1Gi"), "{team: x}", "{tier: db}", 1))
	c.eventually(patience, c.running("app=db", replicas))
	c.eventually(patience, c.running("app=filler", replicas))
	before := c.nodesOf("app=db")
	if len(before) < 3 {
		c.Fatalf("only %d nodes, which shows little", len(before))
	}
	c.scale("filler", 0)
	c.eventually(patience, func() error {
		if n := len(c.nodes()); n >= len(before) {
			return fmt.Errorf("still %d nodes", n)
		}
		return c.running("app=db", replicas)()
	})
	books.inTime("consolidation")
}

// takeAway ends one machine behind everybody's back and announces that the cloud is
// going to stop another one.
func (c *cluster) takeAway(dead, interrupted string) {
	c.Helper()
	event := fmt.Sprintf(`[{"id": "stop", "kind": "Maintenance", "code": "Stop", "machine": %q, "notBefore": %q}]`, interrupted, time.Now().Add(fortnight).UTC().Format(time.RFC3339))
	c.manifests(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: millwright-kwok, namespace: kube-system}\ndata: {dead: %q, interruptions: %q}\n", dead, event))
}

// nodesOf are the names of the nodes of pods, in order.
func (c *cluster) nodesOf(selector string) []string {
	var out []string
	for _, p := range c.pods(selector) {
		out = append(out, p.Spec.NodeName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// without finds fault while any of the nodes is there.
func (c *cluster) without(names ...string) error {
	nodes := c.nodes()
	for _, name := range names {
		if _, ok := nodes[name]; ok {
			return fmt.Errorf("node %s is still there", name)
		}
	}
	return nil
}

// pluginsAreWhereNodesAre finds fault while the plugin of a node that is gone has
// not been cleaned up.
func (c *cluster) pluginsAreWhereNodesAre() error {
	nodes := c.nodes()
	pods, err := c.client.CoreV1().Pods("kube-system").List(c.Context(), metav1.ListOptions{LabelSelector: "app=ebs-csi-node"})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if _, ok := nodes[p.Spec.NodeName]; !ok {
			return fmt.Errorf("pod %s is there and its node %s is not", p.Name, p.Spec.NodeName)
		}
	}
	return nil
}

// comeBack takes some nodes away and waits until they are gone and every database
// is back, none of which may have been away for too long.
func (a *audit) comeBack(what string, nodes []string, removal func()) {
	a.c.Helper()
	removal()
	a.c.eventually(patience, func() error { return a.c.without(nodes...) })
	a.c.eventually(patience, a.c.running("app=db", replicas))
	a.inTime(what)
}

func (a *audit) inTime(what string) {
	a.c.Helper()
	var count int
	var longest time.Duration
	a.c.eventually(patience, func() (err error) {
		count, longest, err = a.back()
		return err
	})
	a.c.Logf("%s: %d databases were away, the longest for %v", what, count, longest.Round(time.Second/10))
	if count == 0 || longest > promised(recovery) {
		a.c.Errorf("%s: %d databases were away, the longest for %v; each may be for %v", what, count, longest, promised(recovery))
	}
}

// databasePool is a pool of machines that have room for five databases, with a line
// for the spec of its claims.
func databasePool(name, line string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  disruption: {consolidateAfter: Never, budgets: [{nodes: "100%%"}]}
  template:
    metadata: {labels: {tier: db}}
    spec:
      %s
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.2xlarge]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`, name, line)
}

func databases(cpu string) string {
	return `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: ` + strconv.Itoa(replicas) + `
  podManagementPolicy: Parallel
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 5
      nodeSelector: {tier: db}
      containers:
      - {name: main, image: example.com/db, resources: {requests: {cpu: ` + cpu + `, memory: 1Gi}}, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`
}

// nodePlugin is the node part of the volume driver, in the shape that drivers ship it.
func nodePlugin(toleration string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ebs-csi-node, namespace: kube-system}
spec:
  selector: {matchLabels: {app: ebs-csi-node}}
  template:
    metadata: {labels: {app: ebs-csi-node, sandbox.millwright.dev/csi-driver: ebs.csi.aws.com}}
    spec:
      hostNetwork: true
      priorityClassName: system-node-critical
      tolerations:
      %s
      containers:
      - {name: ebs-plugin, image: example.com/ebs, volumeMounts: [{name: plugin-dir, mountPath: /csi}]}
      - name: node-driver-registrar
        image: example.com/registrar
        env: [{name: DRIVER_REG_SOCK_PATH, value: /var/lib/kubelet/plugins/ebs.csi.aws.com/csi.sock}]
        volumeMounts: [{name: registration-dir, mountPath: /registration}]
      volumes:
      - {name: plugin-dir, hostPath: {path: /var/lib/kubelet/plugins/ebs.csi.aws.com/, type: DirectoryOrCreate}}
      - {name: registration-dir, hostPath: {path: /var/lib/kubelet/plugins_registry/, type: Directory}}
`, toleration)
}
