package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gpuTypes are a cheap type, and a dear one with two devices.
const gpuTypes = `[
  {"name": "plain", "architecture": "amd64", "operatingSystems": ["linux"], "resources": {"cpu": "8", "memory": "32Gi"}, "offerings": [{"price": 0.1, "zone": "z1", "capacityType": "on-demand"}]},
  {"name": "gpu", "architecture": "amd64", "operatingSystems": ["linux"], "resources": {"cpu": "8", "memory": "32Gi"}, "offerings": [{"price": 1.0, "zone": "z1", "capacityType": "on-demand"}],
   "devices": [{"driver": "gpu.example.com", "name": "gpu-0", "attributes": {"model": {"string": "a"}}}, {"driver": "gpu.example.com", "name": "gpu-1", "attributes": {"model": {"string": "a"}}}]}
]`

const gpuWorkload = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: main}
spec:
  disruption: {consolidateAfter: 1s, consolidationPolicy: WhenEmptyOrUnderutilized, budgets: [{nodes: "100%"}]}
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: default}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
          selectors: [{cel: {expression: "device.attributes['gpu.example.com'].model == 'a'"}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: train, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
      containers: [{name: main, image: example.com/train, resources: {requests: {cpu: 100m, memory: 100Mi}, claims: [{name: gpu}]}}]
`

func TestClaimedDevicesCount(t *testing.T) {
	t.Parallel()
	devicesCount(t, gpuWorkload, "driver gpu.example.com")
}

func TestDevicesCountByTheNameOfAnExtendedResource(t *testing.T) {
	t.Parallel()
	workload := strings.Replace(gpuWorkload, "spec:\n  selectors:", "spec:\n  extendedResourceName: example.com/gpu\n  selectors:", 1)
	workload = strings.Replace(workload, "      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]\n", "", 1)
	devicesCount(t, strings.Replace(workload, "memory: 100Mi}, claims: [{name: gpu}]}", `memory: 100Mi, example.com/gpu: "1"}, limits: {example.com/gpu: "1"}}`, 1), "no example.com/gpu")
}

// Pods that ask for devices get machines that have them, as many as their devices are enough for;
// machines are initialized once the driver has published its devices, and removed when no pod asks
// for them.
func devicesCount(t *testing.T, workload, awaited string) {
	t.Helper()
	c := newCluster(t)
	types := filepath.Join(c.dir, "types.json")
	c.must(os.WriteFile(types, []byte(gpuTypes), 0o600))
	c.manifests(class + binding("millwright-devices") + "---" + workload)
	c.run([]string{"IGNORE_DRA_REQUESTS=false"}, "--provider", "kwok", "--instance-types", types)
	claimsOf := func(n int) func() error {
		return func() error {
			if got := c.claimsOf("main"); len(got) != n {
				return fmt.Errorf("machines %v, want %d", got, n)
			}
			return nil
		}
	}
	c.eventually(patience, claimsOf(2))
	c.eventually(patience, func() error {
		for _, claim := range c.claims() {
			if !slices.ContainsFunc(conditionsOf(&claim), func(x claimCondition) bool {
				return x.kind == "Initialized" && strings.Contains(x.message, awaited)
			}) {
				return fmt.Errorf("%s does not wait: %v", claim.GetName(), conditionsOf(&claim))
			}
		}
		return nil
	})
	c.eventually(patience, func() error { return c.drivesGPUs(c.running("app=train", 4)) })
	c.must(claimsOf(2)())

	c.scale("train", 2)
	c.eventually(patience, func() error { return c.drivesGPUs(claimsOf(1)) })
	c.eventually(patience, func() error { return c.drivesGPUs(c.running("app=train", 2)) })
	c.throughout(10*time.Second, func() error { return c.drivesGPUs(claimsOf(1)) })
}

// drivesGPUs does what a driver does: it publishes the devices of each Node. Then it checks.
func (c *cluster) drivesGPUs(check func() error) error {
	for name, n := range c.nodes() {
		if n.Labels[corev1.LabelInstanceTypeStable] != "gpu" {
			continue
		}
		model := "a"
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name + "-gpu", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: n.UID}}},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: "gpu.example.com", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
			},
		}
		for i := range 2 {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
				Name: fmt.Sprint("gpu-", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}},
			})
		}
		if _, err := c.client.ResourceV1().ResourceSlices().Create(c.Context(), slice, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return check()
}
