package kwok

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
)

func TestAttachmentsAreThoseThatTheDriverWroteDown(t *testing.T) {
	w := newWorld(t)
	m := w.launch("c")
	books := &corev1.ConfigMap{Data: map[string]string{"vol-2": "ebs.csi.aws.com busy", "vol-1": "ebs.csi.aws.com attached"}}
	books.Namespace, books.Name = DefaultNamespace, "kwok-machine-"+m.Token+"-volumes"
	if err := w.client.Create(t.Context(), books); err != nil {
		t.Fatal(err)
	}
	got, err := w.Attachments(t.Context(), m.ProviderID)
	want := []cloud.Attachment{{Driver: "ebs.csi.aws.com", Handle: "vol-1", State: "attached"}, {Driver: "ebs.csi.aws.com", Handle: "vol-2", State: "busy"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, error %v", got, err)
	}

	books.Data["vol-3"] = "busy"
	if err := w.client.Update(t.Context(), books); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Attachments(t.Context(), m.ProviderID); err == nil || !strings.Contains(err.Error(), "vol-3") {
		t.Errorf("error %v", err)
	}

	w.set(throttlesKnob, "1")
	var throttled *cloud.ThrottledError
	if _, err := w.Attachments(t.Context(), m.ProviderID); !errors.As(err, &throttled) {
		t.Errorf("error %v", err)
	}
}
