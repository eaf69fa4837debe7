package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cluster"
)

func TestAnAnswerIsWrittenUnlessItIsTooLate(t *testing.T) {
	begins := metav1.NewTime(time.Date(2026, 10, 18, 0, 0, 0, 0, time.UTC))
	for _, tt := range []struct {
		verb  string
		phase v1alpha1.RequestPhase
		want  string
	}{
		{"approve", v1alpha1.RequestProposed, "r: approved; Drain of NodeClaim c begins at 2026-10-18T00:00:00Z"},
		{"deny", v1alpha1.RequestApproved, "r: denied; Drain of NodeClaim c will not happen"},
		{"approve", "", "r: approved; nothing asks for Drain of NodeClaim c yet: the answer counts once event e does"},
		{"approve", v1alpha1.RequestExpired, "DisruptionRequest r is Expired: too late"},
	} {
		kinds := runtime.NewScheme()
		if err := cluster.AddToScheme(kinds); err != nil {
			t.Fatal(err)
		}
		r := &v1alpha1.DisruptionRequest{ObjectMeta: metav1.ObjectMeta{Name: "r"}}
		r.Spec = v1alpha1.DisruptionRequestSpec{NodeClaim: "c", Event: "e", Action: "Drain"}
		r.Status = v1alpha1.DisruptionRequestStatus{Phase: tt.phase, Begins: begins, Message: "too late"}
		api := fake.NewClientBuilder().WithScheme(kinds).WithObjects(r).Build()
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		mode := color.Auto
		d := decision{connect: func(*genericclioptions.ConfigFlags) (client.Client, error) { return api, nil }, decision: v1alpha1.Approve, verb: tt.verb}
		if tt.verb == "deny" {
			d.decision = v1alpha1.Deny
		}
		cmd := newDecision(console{streams, &mode}, d)
		cmd.SetArgs([]string{"r", "--comment", "as agreed"})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.ExecuteContext(t.Context())
		text := out.String()
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s when %s: %s", tt.verb, tt.phase, text)
		}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			t.Fatal(err)
		}
		if written := r.Spec.Decision != ""; written != (tt.phase != v1alpha1.RequestExpired) || written && (r.Spec.Decision != d.decision || r.Spec.Comment != "as agreed") {
			t.Errorf("%s when %s: spec %+v", tt.verb, tt.phase, r.Spec)
		}
	}
}
