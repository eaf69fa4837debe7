package volumes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Exclusive reports whether a shape uses a claim that is for one pod at a time.
func (b *Book) Exclusive(shape *snapshot.Shape) bool { return len(b.exclusives(shape)) > 0 }

func (b *Book) forOne(name types.NamespacedName) bool {
	claim := b.s.Volumes.Claims[name]
	return claim != nil && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
}

// Contenders sorts out who may have the claims that are for one pod at a time: a
// pod that runs keeps what it has, and of others the first gets it. The result is
// the reason for each pod that has to wait.
func (b *Book) Contenders(pods []*snapshot.Pod) map[*snapshot.Pod]plan.Reason {
	holder := map[types.NamespacedName]*snapshot.Pod{}
	for _, n := range b.s.Nodes {
		for _, p := range n.Pods {
			for _, name := range b.exclusives(p.Class.Shape) {
				if !p.Terminal() && holder[name] == nil {
					holder[name] = p
				}
			}
		}
	}
	out := map[*snapshot.Pod]plan.Reason{}
	for _, p := range pods {
		names := b.exclusives(p.Class.Shape)
		i := slices.IndexFunc(names, func(name types.NamespacedName) bool { return holder[name] != nil && holder[name] != p })
		if i >= 0 {
			out[p] = held(names[i], holder[names[i]])
			continue
		}
		for _, name := range names {
			holder[name] = p
		}
	}
	return out
}

func (b *Book) exclusives(shape *snapshot.Shape) []types.NamespacedName {
	var out []types.NamespacedName
	for _, c := range shape.VolumeClaims {
		if name := (types.NamespacedName{Namespace: shape.Namespace, Name: c.Name}); b.forOne(name) {
			out = append(out, name)
		}
	}
	return out
}

func held(name types.NamespacedName, by *snapshot.Pod) plan.Reason {
	r := unusable(name, fmt.Sprintf("it is for one pod at a time (ReadWriteOncePod), and %s/%s has it", by.Namespace, by.Name))
	r.Objects = append(r.Objects, plan.PodRef(by.Pod))
	return *r
}
