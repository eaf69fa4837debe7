package provision

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// room is what is left of the limits of some pools. Nothing is left is a
// quantity of zero; what is missing is not limited.
type room map[string]corev1.ResourceList

// newRoom takes what exists, and what is on its way, off the limits.
func newRoom(s *snapshot.Snapshot, pools map[string]*karpv1.NodePool) room {
	out := room{}
	for name, np := range pools {
		if np != nil {
			out[name] = corev1.ResourceList(np.Spec.Limits).DeepCopy()
		}
	}
	for _, n := range s.Nodes {
		if left, limited := out[n.Pool()]; limited && !n.Deleting() {
			subtract(left, size(s.Pool(n.Pool()), n))
		}
	}
	for name, left := range out {
		if p := s.Pool(name); p != nil && (p.OnTrial || len(p.TrialImages) > 0) {
			out[name] = onTrial(left, p, starting(s, name))
		}
	}
	return out
}

// onTrial leaves room for one machine, if none is starting, or for one of each image
// that is on trial.
func onTrial(left corev1.ResourceList, p *snapshot.Pool, starting int64) corev1.ResourceList {
	if left == nil {
		left = corev1.ResourceList{}
	}
	for _, image := range p.TrialImages {
		left[imageName(image)] = resource.MustParse("1")
	}
	if !p.OnTrial {
		return left
	}
	one := *resource.NewQuantity(max(0, 1-starting), resource.DecimalSI)
	if have, limited := left["nodes"]; !limited || one.Cmp(have) < 0 {
		left["nodes"] = one
	}
	return left
}

// imageName is the name under which machines of an image are counted.
func imageName(image string) corev1.ResourceName { return corev1.ResourceName("image/" + image) }

// starting counts a pool's machines that are not ready for work yet.
func starting(s *snapshot.Snapshot, pool string) int64 {
	var n int64
	for _, m := range s.Nodes {
		if m.Pool() == pool && !m.Deleting() && !m.Initialized() {
			n++
		}
	}
	return n
}

// take books a planned machine, if there is room for it.
func (r room) take(n *plan.NewNode) bool {
	left := r[n.Pool]
	wanted := counted(n.Choice.Type.Capacity)
	wanted[imageName(n.Choice.Type.Image)] = resource.MustParse("1")
	for name, q := range wanted {
		if have, limited := left[name]; limited && q.Cmp(have) > 0 {
			return false
		}
	}
	subtract(left, wanted)
	return true
}

// size is a machine's capacity. A claim that is not launched yet counts as the
// machine that it was planned as, if the cloud still knows that type.
func size(pool *snapshot.Pool, n *snapshot.Node) corev1.ResourceList {
	if n.Claim.ProviderID == "" && pool != nil {
		if t := planned(pool, n.Claim); t != nil {
			return counted(t.Capacity)
		}
	}
	return counted(n.Capacity())
}

// counted is a capacity that also counts its machine.
func counted(capacity corev1.ResourceList) corev1.ResourceList {
	out := capacity.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	out["nodes"] = resource.MustParse("1")
	return out
}

func subtract(left, used corev1.ResourceList) {
	for name, q := range used {
		if have, limited := left[name]; limited {
			have.Sub(q)
			left[name] = have
		}
	}
}
