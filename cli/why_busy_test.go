package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// In the middle of a burst, and far away, an API server takes its time.
func TestAnAnswerTakesFewRoundsOfRequests(t *testing.T) {
	objects := aWorkload(t)
	synctest.Test(t, func(t *testing.T) {
		busy := interceptor.NewClient(fakeOf(t, objects...), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				time.Sleep(time.Second)
				return c.List(ctx, list, opts...)
			},
		})
		began := time.Now()
		answer := askOf(t, busy, "nodepool/general")
		if took := time.Since(began); took > 6*time.Second || !strings.Contains(answer, "nodepool/general") {
			t.Errorf("it took %v:\n%s", took, answer)
		}
	})
}
