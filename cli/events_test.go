package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cluster"
)

var announcedAt = metav1.NewTime(time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC))

// printEvents runs the command on objects.
func printEvents(t *testing.T, objects []client.Object, args ...string) string {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, cluster.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	reader := fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).
		WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).Build()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	mode := color.Auto
	cmd := newEventsWith(console{streams, &mode}, eventsQuery{connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return reader, nil }})
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func interruptedClaim(name string, conditions ...status.Condition) client.Object {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{karpv1.NodePoolLabelKey: "kafka"}}}
	c.Status.NodeName, c.Status.Conditions = "node-"+name, conditions
	return c
}

func interruptedCondition(s metav1.ConditionStatus, message string) status.Condition {
	return status.Condition{Type: "Interrupted", Status: s, Reason: "R", Message: message, LastTransitionTime: announcedAt}
}

func wentEvent(kind, name string, after time.Duration) client.Object {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: kind + name}, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name},
		Reason: "TerminatingOnInterruption", Message: "went at " + after.String(), LastTimestamp: metav1.NewTime(announcedAt.Add(after)),
	}
}

func request(name string, phase v1alpha1.RequestPhase) client.Object {
	r := &v1alpha1.DisruptionRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DisruptionRequestSpec{NodeClaim: "c", Event: "e1", Action: "Drain"}}
	if phase != "" {
		r.Status = v1alpha1.DisruptionRequestStatus{Phase: phase, Since: announcedAt, Message: "Drain of node-c"}
	}
	return r
}

func TestEventsListsWhatStandsThenWhatIsPastAndWhatPeopleAreAsked(t *testing.T) {
	other := wentEvent("NodeClaim", "elsewhere", time.Minute).(*corev1.Event)
	other.Reason = "SpotInterrupted"
	objects := []client.Object{
		interruptedClaim("a", interruptedCondition(metav1.ConditionFalse, "nothing any more")), interruptedClaim("b"),
		interruptedClaim("c", interruptedCondition(metav1.ConditionTrue, "Drain later")),
		wentEvent("NodeClaim", "c", time.Minute), wentEvent("NodeClaim", "old", time.Minute), wentEvent("NodeClaim", "newer", 2*time.Minute), wentEvent("Node", "node-x", time.Minute),
		other, request("a-done", "Done"), request("z-open", "Proposed"), request("by-hand", ""),
	}
	const want = `NODECLAIM   NODE     NODEPOOL   STATE      SINCE                  WHAT
c           node-c   kafka      standing   2026-10-12T12:00:00Z   Drain later
a           node-a   kafka      over       2026-10-12T12:00:00Z   nothing any more
newer       -        -          gone       2026-10-12T12:02:00Z   went at 2m0s
old         -        -          gone       2026-10-12T12:01:00Z   went at 1m0s

REQUEST   NODECLAIM   ACTION   PHASE      SINCE                  WHAT
z-open    c           Drain    Proposed   2026-10-12T12:00:00Z   Drain of node-c
a-done    c           Drain    Done       2026-10-12T12:00:00Z   Drain of node-c
by-hand   c           Drain    -          -                      
`
	if out := printEvents(t, objects); out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
	if out := printEvents(t, objects, "-o", "json"); !strings.Contains(out, `"phase": "Proposed"`) || !strings.Contains(out, `"nodeClaim": "newer"`) {
		t.Errorf("printed\n%s", out)
	}
}

func TestWithoutEventsItSaysSo(t *testing.T) {
	if out := printEvents(t, nil); out != "No announcement of the cloud is on record; what a policy ignores is not listed.\n" {
		t.Errorf("printed %q", out)
	}
}
