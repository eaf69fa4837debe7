package fleet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// UpTo keeps the types with at most that many vCPUs; zero keeps all.
func UpTo(types []*catalog.Type, vcpus int) []*catalog.Type {
	if vcpus == 0 {
		return types
	}
	return slices.DeleteFunc(slices.Clone(types), func(t *catalog.Type) bool {
		cpu := t.Capacity[corev1.ResourceCPU]
		return cpu.Value() > int64(vcpus)
	})
}
