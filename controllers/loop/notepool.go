package loop

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// NotePool writes a value, as JSON, into an annotation of a NodePool as the API server
// has it now.
func (d Deps) NotePool(ctx context.Context, name, annotation string, value any) error {
	text, err := json.Marshal(value)
	pool := &karpv1.NodePool{}
	if err == nil {
		err = d.Live.Get(ctx, client.ObjectKey{Name: name}, pool)
	}
	if err == nil {
		_, err = d.Writer.Pool(ctx, pool, func(np *karpv1.NodePool) {
			metav1.SetMetaDataAnnotation(&np.ObjectMeta, annotation, string(text))
		})
	}
	if err != nil {
		return fmt.Errorf("writing annotation %s: %w", annotation, err)
	}
	return nil
}
