package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// A Node keeps the time at which its taints changed for as long as it may be held for them.
func TestOfANodeThatJoinsTheTimeOfItsTaintsIsKept(t *testing.T) {
	for registered, want := range map[string]int{"": 1, "true": 0} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{snapshot.RegisteredLabel: registered},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)},
				{FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{}}}`)},
			},
		}}
		if _, err := cluster.Trim(false)(node); err != nil {
			t.Fatal(err)
		}
		if got := len(node.ManagedFields); got != want {
			t.Errorf("registered %q: %d entries, want %d", registered, got, want)
		}
	}
}
