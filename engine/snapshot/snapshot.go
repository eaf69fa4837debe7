package snapshot

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Snapshot is one cluster at one instant. It is immutable and safe for
// concurrent use; the zero value is an empty cluster.
type Snapshot struct {
	// Now is the instant at which the picture was taken.
	Now time.Time
	// Pools are the node pools, by name.
	Pools []*Pool
	// Nodes are the machines of the cluster, by name.
	Nodes []*Node
	// Pending are the pods that have no node and need one, by namespace and name:
	// their scheduler has found none for them, or has not come to them and found none for others.
	Pending []*Pod
	// Untried are other pods without a node, of which their scheduler has said nothing yet, by
	// namespace and name: none of its pods is pending.
	Untried []*Pod
	// Unseen is a pod that the API server has on a Node and of which the watch of pods has not
	// told, nil if no such pod is known: while there is one, the pods here are old.
	Unseen *Pod
	// Expected are the pods that controllers are about to create, in the order of their
	// siblings.
	Expected []Expected
	// Buffers are the CapacityBuffers, by namespace and name.
	Buffers []*Buffer
	// DaemonSets are the cluster's DaemonSets, by namespace and name.
	DaemonSets []*DaemonSet
	// PDBs are the cluster's disruption budgets, by namespace and name.
	PDBs []*policyv1.PodDisruptionBudget
	// Requests ask people for leave to disrupt a machine, by name.
	Requests []*Request
	// Volumes is the storage side.
	Volumes Volumes
	// Namespaces maps a namespace to its labels.
	Namespaces map[string]map[string]string
	// Unavailable holds the offerings that the cloud refused lately, each with
	// the time until which it is not worth asking again.
	Unavailable map[catalog.Key]time.Time
	// Nominated is a hint, by pod: the name of the node or claim that an earlier
	// plan counted on for it. Placement tries that machine first, so that a batch
	// that filled machines to the brim is not packed anew, and worse, while they
	// are on their way. An empty name says that the plan had no machine for the
	// pod. Nil is fine.
	Nominated map[types.NamespacedName]string
}

// DaemonSet is a DaemonSet with the pod that it would run on a new node.
type DaemonSet struct {
	*appsv1.DaemonSet
	// Pod has the constraints of the template and the requests that admission gives its
	// pods; it carries no name and no node.
	Pod *Pod
	// Waiting are, by the name of their Node, pods that exist and are not bound yet.
	Waiting map[string]*Pod
}

// On is the pod that the DaemonSet has, or would have, on a Node.
func (d *DaemonSet) On(node string) *Pod {
	if p := d.Waiting[node]; p != nil {
		return p
	}
	return d.Pod
}

// Owns reports whether a pod is one of the DaemonSet's.
func (d *DaemonSet) Owns(p *Pod) bool {
	return p.Namespace == d.Namespace && slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "DaemonSet" && o.Name == d.Name
	})
}

// Refused reports whether the cloud refused an offering lately.
func (s *Snapshot) Refused(k catalog.Key) bool {
	until, ok := s.Unavailable[k]
	return ok && s.Now.Before(until)
}

// Pool finds a pool by name, nil if there is none.
func (s *Snapshot) Pool(name string) *Pool {
	i := slices.IndexFunc(s.Pools, func(p *Pool) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return s.Pools[i]
}

// Node finds a machine by its name or by its claim's, nil if there is none.
func (s *Snapshot) Node(name string) *Node {
	i := slices.IndexFunc(s.Nodes, func(n *Node) bool { return n.Name == name || n.Claim != nil && n.Claim.Name == name })
	if i < 0 {
		return nil
	}
	return s.Nodes[i]
}

// Fork is a copy whose slices can be changed without touching s; the elements
// stay shared.
func (s *Snapshot) Fork() *Snapshot {
	f := *s
	f.Pools = slices.Clone(s.Pools)
	f.Nodes = slices.Clone(s.Nodes)
	f.Pending = slices.Clone(s.Pending)
	return &f
}
