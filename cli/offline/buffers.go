package offline

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Unbuffered are the CapacityBuffers for which a snapshot keeps no room, with the reasons.
func Unbuffered(s *snapshot.Snapshot, objects []manifest.Object) manifest.Errors {
	kept := map[types.NamespacedName]*snapshot.Buffer{}
	for _, b := range s.Buffers {
		kept[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}] = b
	}
	var out manifest.Errors
	for _, o := range objects {
		if _, ok := o.Object.(*bufferv1beta1.CapacityBuffer); !ok {
			continue
		}
		switch b := kept[client.ObjectKeyFromObject(o)]; {
		case b == nil:
			out = append(out, o.Errorf("spec.provisioningStrategy", "no room is kept, as the strategy is another than %s", bufferv1beta1.ActiveProvisioningStrategy))
		case b.Chunk == nil:
			out = append(out, o.Errorf("spec", "no room is kept: %s", b.Fault))
		}
	}
	return out
}
