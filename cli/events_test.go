package cli

import (
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
)

func TestEventsListsWhatStandsFirst(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC))
	claim := func(name string, conditions ...status.Condition) *karpv1.NodeClaim {
		c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{karpv1.NodePoolLabelKey: "kafka"}}}
		c.Status.NodeName, c.Status.Conditions = "node-"+name, conditions
		return c
	}
	condition := func(s metav1.ConditionStatus, message string) status.Condition {
		return status.Condition{Type: "Interrupted", Status: s, Reason: "R", Message: message, LastTransitionTime: since}
	}
	scheme := runtime.NewScheme()
	if err := cluster.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		claim("a", condition(metav1.ConditionFalse, "nothing any more")), claim("b"), claim("c", condition(metav1.ConditionTrue, "Drain later"))).Build()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	mode := auto
	cmd := newEventsWith(console{streams, &mode}, eventsQuery{connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return reader, nil }})
	cmd.SetArgs([]string{})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "NODECLAIM   NODE     NODEPOOL   STATE      SINCE                  WHAT\n" +
		"c           node-c   kafka      standing   2026-10-12T12:00:00Z   Drain later\n" +
		"a           node-a   kafka      over       2026-10-12T12:00:00Z   nothing any more\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}
