package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// world watches what the story is about.
type world struct {
	nodes  corelisters.NodeLister
	pods   corelisters.PodLister
	claims cache.GenericLister
	// price is what a Node's machine costs in $/h.
	price func(*corev1.Node) float64
}

// labelledPrice is the price that the simulated cloud writes on its Nodes.
func labelledPrice(n *corev1.Node) float64 {
	price, _ := strconv.ParseFloat(n.Labels["eks-node-viewer/instance-price"], 64) // zero until it is there
	return price
}

var nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}

// watchWorld starts the watches and returns once they are in sync; they end
// with ctx.
func watchWorld(ctx context.Context, cfg *rest.Config) (*world, error) {
	typed, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	core := informers.NewSharedInformerFactory(typed, 0)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0)
	w := &world{
		nodes:  core.Core().V1().Nodes().Lister(),
		pods:   core.Core().V1().Pods().Lister(),
		claims: custom.ForResource(nodeClaims).Lister(),
		price:  labelledPrice,
	}
	core.Start(ctx.Done())
	custom.Start(ctx.Done())
	core.WaitForCacheSync(ctx.Done())
	custom.WaitForCacheSync(ctx.Done())
	return w, ctx.Err()
}

// view is the world at one instant.
type view struct {
	machines []machine
	// workload are the pods that are not of DaemonSets.
	workload, running int
	// startup is how long each running pod took from creation to ready.
	startup []time.Duration
}

// machine is a claim with its node.
type machine struct {
	name, instanceType, zone, capacityType string
	// instance is the cloud's name for it, empty until it is launched.
	instance string
	// price is in $/h, zero until the node says it.
	price float64
	// pods are those of workloads on the node.
	pods int
	// status is Ready, or what the machine waits for.
	status string
	ready  bool
}

func (v view) pricePerHour() float64 {
	var sum float64
	for _, m := range v.machines {
		sum += m.price
	}
	return sum
}

// idle counts the machines that carry no pod of a workload.
func (v view) idle() int {
	n := 0
	for _, m := range v.machines {
		if m.pods == 0 {
			n++
		}
	}
	return n
}

func (w *world) now(namespace string) (view, error) {
	var v view
	podsOn := map[string]int{}
	pods, err := w.pods.Pods(namespace).List(labels.Everything())
	if err != nil {
		return v, err
	}
	for _, p := range pods {
		if ownedByDaemonSet(p) || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		v.workload++
		podsOn[p.Spec.NodeName]++
		if took, ok := startup(p); ok {
			v.running++
			v.startup = append(v.startup, took)
		}
	}
	v.machines, err = w.machines(podsOn)
	return v, err
}

func (w *world) machines(podsOn map[string]int) ([]machine, error) {
	claims, err := w.claims.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	machines := make([]machine, 0, len(claims))
	for _, c := range claims {
		claim := c.(*unstructured.Unstructured)
		m := machine{
			name:         claim.GetName(),
			instanceType: claim.GetLabels()[corev1.LabelInstanceTypeStable],
			zone:         claim.GetLabels()[corev1.LabelTopologyZone],
			capacityType: claim.GetLabels()["karpenter.sh/capacity-type"],
		}
		providerID, _, _ := unstructured.NestedString(claim.Object, "status", "providerID")
		m.instance = providerID[strings.LastIndexByte(providerID, '/')+1:]
		m.status, m.ready = claimStatus(claim)
		nodeName, _, _ := unstructured.NestedString(claim.Object, "status", "nodeName")
		if node, err := w.nodes.Get(nodeName); nodeName != "" && err == nil {
			m.price = w.price(node)
			m.pods = podsOn[nodeName]
		}
		machines = append(machines, m)
	}
	slices.SortFunc(machines, func(a, b machine) int { return cmp.Compare(a.name, b.name) })
	return machines, nil
}

// claimStatus says in a few words where a claim is in its life: the first
// condition on the way that does not hold, with its message.
func claimStatus(claim *unstructured.Unstructured) (status string, ready bool) {
	conditions := map[string]map[string]any{}
	list, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			conditions[fmt.Sprint(c["type"])] = c
		}
	}
	if claim.GetDeletionTimestamp() != nil {
		return "Leaving" + waitsFor(conditions, "Drained", "VolumesDetached", "InstanceTerminating"), false
	}
	for _, step := range []struct{ condition, doing string }{
		{"Launched", "Launching"}, {"Registered", "Registering"}, {"Initialized", "Initializing"},
	} {
		if conditions[step.condition]["status"] != "True" {
			return step.doing + waitsFor(conditions, step.condition), false
		}
	}
	return "Ready", true
}

// waitsFor is ": reason" of the first of the conditions that is there and not
// true.
func waitsFor(conditions map[string]map[string]any, names ...string) string {
	for _, name := range names {
		c, ok := conditions[name]
		if !ok || c["status"] == "True" {
			continue
		}
		if reason := fmt.Sprint(c["reason"]); reason != "AwaitingReconciliation" {
			return ": " + reason
		}
	}
	return ""
}

func ownedByDaemonSet(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}

// startup is the time from a pod's creation to its readiness, in whole seconds
// as the API keeps them.
func startup(p *corev1.Pod) (time.Duration, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
			return c.LastTransitionTime.Sub(p.CreationTimestamp.Time), true
		}
	}
	return 0, false
}
