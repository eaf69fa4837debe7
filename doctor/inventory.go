package doctor

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Inventory is what is examined. Objects are read only. It is not safe for concurrent use.
type Inventory struct {
	Pools          []*karpv1.NodePool
	DaemonSets     []*appsv1.DaemonSet
	Workloads      []Workload // Deployments and StatefulSets
	PDBs           []*policyv1.PodDisruptionBudget
	StorageClasses []*storagev1.StorageClass
	// Groups are the nodes that are no pool's, by name.
	Groups []NodeGroup
	// Queues are those of the cloud's announcements.
	Queues []Queue
	// Complete says that this is a whole cluster, so that what is not there does not exist.
	Complete bool

	labels map[*karpv1.NodePool]requirement.Set // those of each pool's nodes, once they were asked for
}

// Workload is what keeps a number of pods alike.
type Workload struct {
	Ref      plan.ObjectRef
	Replicas int32
	Template *corev1.PodTemplateSpec

	class *snapshot.Class
}

func workload(kind string, o client.Object, n *int32, t *corev1.PodTemplateSpec) Workload {
	return Workload{refOf(kind, o), replicas(n), t, class(o.GetNamespace(), t)}
}

// New sorts objects by their kinds, each kind by namespace and name. Kinds that no check looks
// at are left out.
func New(objects []client.Object, complete bool) *Inventory {
	in := &Inventory{Complete: complete}
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, o := range objects {
		switch o := o.(type) {
		case *karpv1.NodePool:
			in.Pools = append(in.Pools, o)
		case *appsv1.DaemonSet:
			in.DaemonSets = append(in.DaemonSets, o)
		case *appsv1.Deployment:
			in.Workloads = append(in.Workloads, workload("Deployment", o, o.Spec.Replicas, &o.Spec.Template))
		case *appsv1.StatefulSet:
			in.Workloads = append(in.Workloads, workload("StatefulSet", o, o.Spec.Replicas, &o.Spec.Template))
		case *policyv1.PodDisruptionBudget:
			in.PDBs = append(in.PDBs, o)
		case *storagev1.StorageClass:
			in.StorageClasses = append(in.StorageClasses, o)
		case *corev1.Node:
			if g, ok := groupOf(o); ok {
				in.Add(g)
			}
		}
	}
	return in
}

func refOf(kind string, o client.Object) plan.ObjectRef {
	return plan.ObjectRef{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
