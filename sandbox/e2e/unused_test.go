package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// larger is a DaemonSet whose pods are larger than its template, by defaults of the
// namespace or by a policy that changes them as a webhook would.
func larger(namespace, cause string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
%[2]s
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      priorityClassName: system-node-critical
      nodeSelector: {team: %[1]s}
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: example.com/agent}]
`, namespace, fmt.Sprintf(cause, namespace))
}

const limitRange = `
apiVersion: v1
kind: LimitRange
metadata: {name: defaults, namespace: %s}
spec: {limits: [{type: Container, defaultRequest: {cpu: 1500m, memory: 1Gi}}]}
`

const resizing = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: resize-%[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  reinvocationPolicy: Never
  failurePolicy: Fail
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "add", path: "/spec/containers/0/resources", value: Object.spec.containers{resources: Object.spec.containers.resources{requests: {"cpu": "1500m", "memory": "1Gi"}}}.resources}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: resize-%[1]s}
spec: {policyName: resize-%[1]s}
`

func TestADaemonSetThatIsLargerThanItsTemplateCostsAtMostOneMachineMore(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class)
	c.millwright()
	log := c.watchClaims()
	for team, most := range map[string]int{"defaults": 3, "resized": 4} {
		cause := map[string]string{"defaults": limitRange, "resized": resizing}[team]
		c.manifests(pool(team, "amd64") + "---" + larger(team, cause))
		for i := range 3 { // one after the other, so that each needs a machine of its own
			app := fmt.Sprint(team, "-", i)
			c.manifests(deployment(app, team, 1, "1", "1Gi"))
			c.eventually(patience, c.running("app="+app, 1))
		}
		if got := len(log.of(team)); got > most {
			c.Errorf("%s: %d machines for three pods, at most %d are needed:\n%s", team, got, most, log.tell(team))
		}
	}
}

// quarantine taints every new node of a pool as an operator from outside might.
func (c *cluster) quarantine(team string) {
	const taint = `{"spec":{"taints":[{"key":"example.com/quarantine","effect":"NoExecute"}]}}`
	go wait.UntilWithContext(c.Context(), func(ctx context.Context) {
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "team=" + team})
		if err != nil {
			return // the cluster is about to go
		}
		for i := range nodes.Items {
			c.taintOnce(&nodes.Items[i], taint)
		}
	}, 200*time.Millisecond)
}

func (c *cluster) taintOnce(n *corev1.Node, taint string) {
	registered := n.Labels["karpenter.sh/registered"] == "true"
	for _, t := range n.Spec.Taints {
		if t.Key == "example.com/quarantine" {
			return
		}
	}
	if registered {
		_, _ = c.client.CoreV1().Nodes().Patch(c.Context(), n.Name, types.StrategicMergePatchType, []byte(taint), metav1.PatchOptions{})
	}
}

// With -long it is watched for half an hour.
func TestNodesThatAreTaintedFromOutsideAreNotLaunchedWithoutEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + pool("outside", "amd64"))
	c.millwright()
	log := c.watchClaims()
	c.quarantine("outside")
	c.manifests(deployment("outside", "outside", 1, "1", "1Gi"))
	const because = "taint example.com/quarantine:NoExecute that the pod does not tolerate"
	c.eventually(patience, func() error { return c.poolSays("outside", "MachinesUnused", because) })
	watched := time.Minute
	if *long {
		watched = 30 * time.Minute
	}
	first := time.Now()
	c.throughout(watched, func() error {
		most := 6 + 2*int(time.Since(first)/(10*time.Minute)) // one that is needed, five more, then fewer and fewer
		if n := len(log.of("outside")); n > most {
			return fmt.Errorf("%d machines:\n%s", n, log.tell("outside"))
		}
		return nil
	})
	if answer := c.ask("why", "pod", c.pods("app=outside")[0].Name, "--namespace", "default"); !strings.Contains(answer, because) {
		c.Errorf("millwright why pod says:\n%s", answer)
	} else {
		c.Logf("millwright why pod says:\n%s", answer)
	}
	c.eventually(promised(2*time.Minute), func() error {
		if n := remaining(log.of("outside")); n > 1 {
			return fmt.Errorf("%d machines that are not used are still there:\n%s", n, log.tell("outside"))
		}
		return nil
	})
	c.Logf("%d machines in %v", len(log.of("outside")), time.Since(first).Round(time.Second))
}
