package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Workload is one row of the suite.
type Workload struct {
	// Name is short and unique; flags select by it.
	Name string
	// Group lets flags select by what a workload is about.
	Group Group
	// Types is the catalogue; nil is that of the suite.
	Types func() []*catalog.Type
	// MaxVCPU leaves out larger types; zero keeps all.
	MaxVCPU int
	// Pods makes the batch.
	Pods func(r *rand.Rand) []*corev1.Pod
	// Waves are in how many parts they come; zero is all at once.
	Waves int
	// Pools makes the pools; nil is OnePool.
	Pools func() []*karpv1.NodePool
	// DaemonSets run on every node; nil is none.
	DaemonSets func() []*appsv1.DaemonSet
	// Most is what a solve may take at most.
	Most Limits
	// Linear says that a machine of twice the size costs twice as much, so that few
	// machines cost no more than many.
	Linear bool
}

// Limits bound the cost of a solve; zero is without bound.
type Limits struct {
	Wall time.Duration
	// Heap is in bytes, the highest above the start.
	Heap uint64
	// Price is as a multiple of the bound.
	Price float64
}

// HasTopology reports whether some pod has a rule, required or preferred, about
// which other pods are near.
func HasTopology(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
		a := p.Spec.Affinity
		return len(p.Spec.TopologySpreadConstraints) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
	})
}

// Group says when a workload runs.
type Group string

const (
	// Core is without rules of topology and takes seconds.
	Core Group = "core"
	// Large takes minutes.
	Large Group = "large"
	// Topology needs spread constraints and pod (anti-)affinity.
	Topology Group = "topology"
	// Open is what does not meet its targets yet.
	Open Group = "open"
)

// Problem makes the workload from a catalogue and a seed.
func (w Workload) Problem(types []*catalog.Type, seed uint64) *bench.Problem {
	if w.Types != nil {
		types = w.Types()
	}
	p := &bench.Problem{
		Pods:  w.Pods(rand.New(rand.NewPCG(seed, 0))),
		Waves: w.Waves,
		Types: fleet.UpTo(types, w.MaxVCPU),
	}
	if w.Pools == nil {
		w.Pools = OnePool
	}
	p.Pools = w.Pools()
	if w.DaemonSets != nil {
		p.DaemonSets = w.DaemonSets()
	}
	for i, pod := range p.Pods {
		pod.UID = podUID(i)
	}
	return p
}

// podUID is a UID that sorts like the number.
func podUID(i int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)) }

// epoch is when every pod was created: both engines see a batch without
// seniority.
var epoch = metav1.NewTime(bench.Now)

// newPod is a pending pod that the scheduler found no node for.
func newPod(name string, cpuMilli, memoryMiB int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: epoch},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(memoryMiB<<20, resource.BinarySI),
				}},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}},
		},
	}
}
