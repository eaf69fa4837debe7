package volumes

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// bringTogether finds the claims that have no volume yet and that several pods
// wait for. The volume comes to be in the zone of the first of them, and only there
// can the others reach it, unless the driver makes volumes that are everywhere:
// it is not known before.
func (b *Book) bringTogether(uses []Use) {
	users := map[types.NamespacedName]int{}
	for _, u := range uses {
		for _, c := range u.Shape.VolumeClaims {
			name := types.NamespacedName{Namespace: u.Shape.Namespace, Name: c.Name}
			if claim := b.s.Volumes.Claims[name]; claim != nil && c.Template == nil && claim.Spec.VolumeName == "" && !b.forOne(name) {
				users[name] += u.Pods
			}
		}
	}
	b.together = map[types.NamespacedName]bool{}
	for name, n := range users {
		if n > 1 {
			b.together[name] = true
		}
	}
}

// Together are the claims of a shape for which its pods have to be in one zone with
// others, by name.
func (b *Book) Together(shape *snapshot.Shape) []string {
	if b == nil {
		return nil
	}
	var out []string
	for _, c := range shape.VolumeClaims {
		if c.Template == nil && b.together[types.NamespacedName{Namespace: shape.Namespace, Name: c.Name}] {
			out = append(out, c.Name)
		}
	}
	return out
}
