package nodepool

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// resourceNodes is the name under which limits and status count machines.
const resourceNodes corev1.ResourceName = "nodes"

// always are the resources that a pool's status shows even when there are none.
var always = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage, resourceNodes,
}

// usage sums what a pool's machines provide: those that have been launched and
// are not being deleted. The second result counts its machines that are not
// being deleted, launched or not.
func usage(s *snapshot.Snapshot, pool string) (corev1.ResourceList, int64) {
	total := corev1.ResourceList{}
	for _, name := range always {
		total[name] = resource.MustParse("0")
	}
	var machines int64
	for _, n := range s.Nodes {
		if n.Claim == nil || n.Claim.Pool != pool || n.Deleting() {
			continue
		}
		machines++
		if n.Claim.ProviderID == "" {
			continue
		}
		for name, q := range n.Capacity() {
			sum := total[name]
			sum.Add(q)
			total[name] = sum
		}
		nodes := total[resourceNodes]
		nodes.Add(resource.MustParse("1"))
		total[resourceNodes] = nodes
	}
	return total, machines
}

// count sets status.resources and status.nodes. Quantities that are merely
// written in another way are left as they are.
func count(np *karpv1.NodePool, s *snapshot.Snapshot) {
	resources, machines := usage(s, np.Name)
	if !equal(np.Status.Resources, resources) {
		np.Status.Resources = resources
	}
	if np.Status.Nodes == nil || *np.Status.Nodes != machines {
		np.Status.Nodes = &machines
	}
}

func equal(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return true
}
