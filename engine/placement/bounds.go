package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// bounded is the snapshot with pools that sell no more than the options allow: no
// larger machines, and no machine for which there are too few types to choose from.
func bounded(s *snapshot.Snapshot, o Options) *snapshot.Snapshot {
	if o.MaxCPU <= 0 && o.MinTypes <= 1 {
		return s
	}
	f := s.Fork()
	for i, p := range f.Pools {
		pool := *p
		if o.MaxCPU > 0 {
			pool.Types = slices.DeleteFunc(slices.Clone(p.Types), func(t *catalog.Type) bool {
				cpu := t.Capacity[corev1.ResourceCPU]
				return cpu.MilliValue() > 1000*o.MaxCPU
			})
		}
		if o.MinTypes > 1 {
			several := requirement.Must(corev1.LabelInstanceTypeStable, requirement.Exists).WithMinValues(o.MinTypes)
			pool.Requirements = p.Requirements.With(several)
		}
		f.Pools[i] = &pool
	}
	return f
}
