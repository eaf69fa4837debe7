package enginetest

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Hopeless is n pods of so many kinds of which nearly all ask for what Hoard does
// not have: labels, zones and machines that no type has, more than the largest
// machine has, two things at odds, or a taint that they do not tolerate.
func Hopeless(n, kinds int, seed uint64) []*corev1.Pod {
	rng := rand.New(rand.NewPCG(seed, 4))
	sample := make([]*corev1.Pod, kinds)
	for k := range sample {
		p := Pod("", int64(100*(1+rng.IntN(40))), int64(128*(1+rng.IntN(60))))
		p.Labels["app"] = fmt.Sprintf("app-%d", k)
		requests := p.Spec.Containers[0].Resources.Requests
		p.Spec.NodeSelector = map[string]string{}
		switch k % 8 {
		case 0:
			p.Spec.NodeSelector["team"] = fmt.Sprintf("team-%d", k)
		case 1:
			p.Spec.NodeSelector[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%c", 'd'+k%5)
		case 2:
			requests[corev1.ResourceCPU] = *resource.NewQuantity(int64(200+k), resource.DecimalSI)
		case 3:
			p.Spec.NodeSelector[corev1.LabelArchStable] = "arm64"
			requests["nvidia.com/gpu"] = *resource.NewQuantity(int64(1+k%3), resource.DecimalSI)
		case 4:
			requests[corev1.ResourceMemory] = *resource.NewQuantity(int64(1600+k)<<30, resource.BinarySI)
			p.Spec.NodeSelector["example.com/category"] = "r"
		case 5:
			p.Spec.NodeSelector["example.com/family"] = fmt.Sprintf("m%di", 5+k%4)
			requests[corev1.ResourceCPU] = *resource.NewQuantity(int64(190), resource.DecimalSI)
			requests[corev1.ResourceMemory] = *resource.NewQuantity(int64(900+k)<<30, resource.BinarySI)
		case 6:
			p.Spec.NodeSelector["dedicated"] = "gpu"
			requests["nvidia.com/gpu"] = *resource.NewQuantity(1, resource.DecimalSI)
		}
		sample[k] = p
	}
	out := make([]*corev1.Pod, n)
	for i := range out {
		p := *sample[i%kinds]
		p.Name, p.UID = fmt.Sprintf("pod-%06d", i), types.UID(fmt.Sprintf("uid-%06d", i))
		out[i] = &p
	}
	return out
}

// Hoard is five pools as an organization has them: general ones for each architecture, one
// for GPUs behind a taint, one for batch, and one that is nearly used up.
func Hoard(list []*catalog.Type) []*snapshot.Pool {
	in := func(key string, values ...string) requirement.Requirement {
		return requirement.Must(key, requirement.In, values...)
	}
	taint := func(key string) []corev1.Taint {
		return []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
	}
	amd := Pool("amd", list, OnDemand(), in(corev1.LabelArchStable, "amd64"), in("example.com/category", "c", "m", "r"))
	arm := Pool("arm", list, in(corev1.LabelArchStable, "arm64"), in(corev1.LabelTopologyZone, "zone-a", "zone-b"))
	gpu := Pool("gpu", list, in("example.com/category", "g"), in("dedicated", "gpu"))
	gpu.Taints = taint("nvidia.com/gpu")
	batch := Pool("batch", list, in(catalog.CapacityTypeLabel, catalog.Spot), requirement.Must("example.com/cpu", requirement.Lte, "64"))
	batch.Taints = taint("batch")
	small := Pool("small", list, requirement.Must("example.com/cpu", requirement.Lte, "8"))
	small.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("40")}
	return []*snapshot.Pool{amd, arm, gpu, batch, small}
}
