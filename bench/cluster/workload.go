package cluster

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench/watch"
)

// shape is what pods of the workload ask for; of the whole, it has share in 3,000 pods.
type shape struct {
	name, cpu, memory string
	share             int
}

var shapes = []shape{
	{"small", "250m", "500Mi", 2000},
	{"medium", "900m", "3100Mi", 700},
	{"large", "3500m", "14Gi", 300},
}

// replicas of a shape where all shapes together have pods.
func (s shape) replicas(pods int) int { return pods * s.share / 3000 }

func total(pods int) int {
	sum := 0
	for _, s := range shapes {
		sum += s.replicas(pods)
	}
	return sum
}

const poolManifests = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {nodeRegistrationDelay: %[1]s}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`

const homeName = "home"

// home is the Node that a controller runs on: it takes nothing else. A cluster without any Node
// is a world of its own: kube-scheduler then tries all pods again and again, with pauses that
// double, where it otherwise waits for a Node to change.
const home = `
apiVersion: v1
kind: Node
metadata: {name: ` + homeName + `}
spec:
  taints:
  - {key: CriticalAddonsOnly, value: "true", effect: NoSchedule}
`

// simulatedCloud takes every delay but the class's off Millwright's simulated machines, as
// those of Karpenter's provider have no others.
const simulatedCloud = `
apiVersion: v1
kind: ConfigMap
metadata: {name: millwright-kwok, namespace: kube-system}
data: {bootDelay: 0s, registrationDelay: 0s, shutdownDelay: 0s}
`

// kubelets sets how long Nodes take to become ready.
const kubelets = `
apiVersion: v1
kind: ConfigMap
metadata: {name: sandbox-config, namespace: kube-system}
data: {node-ready-delay: %[1]s, node-ready-spread: %[2]s}
`

const deploymentManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[4]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: main, image: example.com/main, resources: {requests: {cpu: %[2]q, memory: %[3]q}}}
`

// pools applies the class, the pool and what a contestant adds.
func (w *world) pools(ctx context.Context, policy string) error {
	nodes := fmt.Sprintf(poolManifests, w.cfg.LaunchDelay) + "---" + fmt.Sprintf(kubelets, w.cfg.ReadyDelay, w.cfg.ReadySpread)
	return w.apply.Text(ctx, nodes+"---"+simulatedCloud+"---"+home+"---"+policy)
}

// deployment is one of those that a shape's pods belong to.
type deployment struct {
	shape
	name     string
	replicas int
}

// deployments share out the pods, shape by shape in turn.
func (w *world) deployments(pods int) []deployment {
	out := make([]deployment, 0, w.cfg.Deployments*len(shapes))
	for i := range w.cfg.Deployments {
		for _, s := range shapes {
			all := s.replicas(pods)
			part := all*(i+1)/w.cfg.Deployments - all*i/w.cfg.Deployments
			out = append(out, deployment{shape: s, name: fmt.Sprintf("%s-%d", s.name, i), replicas: part})
		}
	}
	return out
}

// burst creates the Deployments.
func (w *world) burst(ctx context.Context) error {
	for _, d := range w.deployments(w.cfg.Pods) {
		if err := w.apply.Text(ctx, fmt.Sprintf(deploymentManifest, d.name, d.cpu, d.memory, d.replicas)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.cfg.Apart):
		}
	}
	return nil
}

// empty deletes all pods and keeps the machines, which may not be disrupted until thaw.
func (w *world) empty(ctx context.Context) error {
	if err := w.budget(ctx, "0"); err != nil {
		return err
	}
	if err := w.nothing(ctx); err != nil {
		return err
	}
	return watch.Until(ctx, func() bool { return len(w.now().Pods) == 0 })
}

// thaw gives the pool the default budget.
func (w *world) thaw(ctx context.Context) error { return w.budget(ctx, "10%") }

// budget sets how many machines may be disrupted at a time.
func (w *world) budget(ctx context.Context, nodes string) error {
	_, err := w.dynamic.Resource(nodePools).Patch(ctx, "general", types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"disruption":{"budgets":[{"nodes":%q}]}}}`, nodes), metav1.PatchOptions{})
	return err
}

// scale sets the replicas of all Deployments.
func (w *world) scale(ctx context.Context, pods int) error {
	for _, d := range w.deployments(pods) {
		if err := w.patch(ctx, d.name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, d.replicas)); err != nil {
			return err
		}
	}
	return nil
}

// rollOut gives all Deployments new pods.
func (w *world) rollOut(ctx context.Context) error {
	for _, d := range w.deployments(w.cfg.Pods) {
		if err := w.patch(ctx, d.name, `{"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) patch(ctx context.Context, name, patch string) error {
	_, err := w.client.AppsV1().Deployments(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// Pods that come one at a time.
const (
	trickled     = 30
	tricklePause = 2 * time.Second
)

// trickle creates pods of the largest shape in turn with the others, one at a time.
func (w *world) trickle(ctx context.Context) error {
	tick := time.NewTicker(tricklePause)
	defer tick.Stop()
	for i := range trickled {
		s := shapes[i%len(shapes)]
		if err := w.apply.Text(ctx, fmt.Sprintf(deploymentManifest, fmt.Sprintf("trickle-%d", i), s.cpu, s.memory, 1)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// nothing deletes all Deployments.
func (w *world) nothing(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	return w.client.AppsV1().Deployments(metav1.NamespaceDefault).DeleteCollection(ctx,
		metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{})
}
