package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ailing is a cluster whose system nodes keep DNS out, and whose pool keeps a CSI driver out.
const ailing = `
apiVersion: v1
kind: Node
metadata: {name: system-1, labels: {eks.amazonaws.com/nodegroup: system, kubernetes.io/os: linux}}
spec: {taints: [{key: dedicated, value: system, effect: NoSchedule}]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  disruption: {consolidateAfter: 1m, budgets: [{nodes: "0"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: csi-node, namespace: kube-system}
spec:
  selector: {matchLabels: {app: csi-node}}
  template:
    metadata: {labels: {app: csi-node}}
    spec:
      tolerations: [{key: CriticalAddonsOnly, operator: Exists}]
      containers: [{name: plugin, image: example.com/plugin}]
      volumes: [{name: registration, hostPath: {path: /var/lib/kubelet/plugins_registry/}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: coredns, namespace: kube-system}
spec:
  replicas: 2
  selector: {matchLabels: {k8s-app: kube-dns}}
  template:
    metadata: {labels: {k8s-app: kube-dns}}
    spec: {containers: [{name: coredns, image: example.com/coredns}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: train, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      containers: [{name: train, image: example.com/train}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: coredns, namespace: kube-system}
spec: {minAvailable: 2, selector: {matchLabels: {k8s-app: kube-dns}}}
`

// resources are those that findings are about.
var resources = map[string]schema.GroupVersionResource{
	"NodePool":            {Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
	"DaemonSet":           {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"Deployment":          {Group: "apps", Version: "v1", Resource: "deployments"},
	"PodDisruptionBudget": {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// diagnosis is what millwright doctor -o json prints.
type diagnosis struct {
	Findings []struct {
		Check  string
		Object struct{ Kind, Namespace, Name string }
		Patch  json.RawMessage
	}
}

func (c *cluster) diagnose() diagnosis {
	c.Helper()
	text, _ := c.command("doctor", "-o", "json")
	var d diagnosis
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		c.Fatalf("%v: %s", err, text)
	}
	return d
}

// The API server takes the patches of every finding, and then nothing is found.
func TestTheFixesOfDoctorMendACluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class)
	c.manifests(ailing)
	found := map[string]bool{}
	done := map[string]bool{}
	for _, f := range c.diagnose().Findings {
		found[f.Check] = true
		patch := fmt.Sprint(f.Object, string(f.Patch))
		if done[patch] {
			continue // one patch mends all that its object lacks
		}
		done[patch] = true
		r, known := resources[f.Object.Kind]
		if !known || len(f.Patch) == 0 {
			c.Fatalf("%s of %+v has no patch", f.Check, f.Object)
		}
		_, err := c.dynamic.Resource(r).Namespace(f.Object.Namespace).Patch(c.Context(), f.Object.Name, types.JSONPatchType, f.Patch, metav1.PatchOptions{})
		c.must(err)
	}
	for _, check := range []string{"agent-leaves-early", "agent-shut-out", "budget-never-opens", "nowhere-to-run", "pdb-allows-none"} {
		if !found[check] {
			c.Errorf("%s was not found, only %v", check, found)
		}
	}
	if left := c.diagnose(); len(left.Findings) > 0 {
		c.Errorf("there is still %+v", left)
	}
}
