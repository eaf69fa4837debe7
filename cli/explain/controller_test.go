package explain_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cli/explain"
)

func TestALeaseIsAsFreshAsTheAPIServerSays(t *testing.T) {
	at := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ holder, written, want time.Time }{
		"its holder's clock is behind": {at.Add(-time.Hour), at, at},
		"its holder's clock is ahead":  {at.Add(time.Hour), at, at},
		"who wrote it is left out":     {at, time.Time{}, at},
		"it was never renewed":         {time.Time{}, at, time.Time{}},
	} {
		l := &coordinationv1.Lease{}
		if !tt.holder.IsZero() {
			l.Spec.RenewTime = &metav1.MicroTime{Time: tt.holder}
		}
		if !tt.written.IsZero() {
			l.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: at.Add(-time.Minute)}}, {}, {Time: &metav1.Time{Time: tt.written}}}
		}
		if got := explain.Renewed(l); !got.Equal(tt.want) {
			t.Errorf("%s: renewed at %v, not %v", name, got, tt.want)
		}
	}
}
