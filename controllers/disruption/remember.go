package disruption

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;patch

// remember notes on the pools what is about to be done. If that cannot be noted, nothing
// is done: what would hold it back the next time would be lost.
func (d *Disruptor) remember(ctx context.Context, s *snapshot.Snapshot, decision *disruption.Decision) error {
	for _, p := range s.Pools {
		moves := disruption.Note(s, decision.Commands, p)
		if moves == nil {
			continue
		}
		text, err := json.Marshal(moves)
		pool := &karpv1.NodePool{}
		if err == nil {
			err = d.Live.Get(ctx, types.NamespacedName{Name: p.Name}, pool)
		}
		if err == nil {
			_, err = d.Writer.Pool(ctx, pool, func(np *karpv1.NodePool) {
				metav1.SetMetaDataAnnotation(&np.ObjectMeta, cluster.MovesAnnotation, string(text))
			})
		}
		if err != nil {
			return fmt.Errorf("writing annotation %s: %w", cluster.MovesAnnotation, err)
		}
	}
	return nil
}
