package knobs

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
)

func TestInvalidStateIsReportedAndThePreviousOneKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := fake.NewClientset()
	recorder := record.NewFakeRecorder(1)
	err := Edit(ctx, client, func(data map[string]string) { data["detach-delay"] = "7s" })
	if err != nil {
		t.Fatal(err)
	}
	live := NewLive(client, recorder)
	if err := live.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer live.Shutdown()
	defer cancel()

	bad := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: ConfigMap},
		Data:       map[string]string{"detach-delay": "later"},
	}
	if _, err := client.CoreV1().ConfigMaps(Namespace).Update(ctx, bad, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-recorder.Events:
		if !strings.Contains(event, "InvalidSettings") {
			t.Errorf("event is %q", event)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no event")
	}
	if got := live.Settings().Duration(DetachDelay); got != 7*time.Second {
		t.Errorf("detach-delay is %v", got)
	}
}

func TestEditRefusesWhatIsInvalid(t *testing.T) {
	client := fake.NewClientset()
	err := Edit(t.Context(), client, func(data map[string]string) { data["no-such-knob"] = "1" })
	if err == nil {
		t.Error("accepted")
	}
}
