package answer

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/v1alpha1"
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
		var out strings.Builder
		c := Config{Out: &out, Connect: func(*genericclioptions.ConfigFlags) (client.Client, error) { return api, nil }, Needs: func(string, string) cobra.PositionalArgs { return nil }}
		cmd, decided := Approve(c), v1alpha1.Approve
		if tt.verb == "deny" {
			cmd, decided = Deny(c), v1alpha1.Deny
		}
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
		if written := r.Spec.Decision != ""; written != (tt.phase != v1alpha1.RequestExpired) || written && (r.Spec.Decision != decided || r.Spec.Comment != "as agreed") {
			t.Errorf("%s when %s: spec %+v", tt.verb, tt.phase, r.Spec)
		}
	}
}

func TestWhatIsDecidedOtherwiseForTheSameMachineIsSaid(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := cluster.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	request := func(name, claim, event string, phase v1alpha1.RequestPhase) *v1alpha1.DisruptionRequest {
		r := &v1alpha1.DisruptionRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
		r.Spec = v1alpha1.DisruptionRequestSpec{NodeClaim: claim, Event: event, Action: "Drain"}
		r.Status.Phase = phase
		return r
	}
	api := fake.NewClientBuilder().WithScheme(kinds).WithObjects(
		request("r", "c", "e", v1alpha1.RequestProposed), request("denied", "c", "f", v1alpha1.RequestDenied), request("elsewhere", "d", "e", v1alpha1.RequestDenied),
		request("over", "c", "g", v1alpha1.RequestWithdrawn), request("approved", "c", "h", v1alpha1.RequestApproved),
	).Build()
	for verb, want := range map[v1alpha1.Decision]string{
		v1alpha1.Approve: "r: approved; Drain of NodeClaim c begins at once, although DisruptionRequest denied is Denied: each event is answered on its own",
		v1alpha1.Deny:    "r: denied; Drain of NodeClaim c will not happen because of event e, although DisruptionRequest approved is Approved: each event is answered on its own",
	} {
		got, err := decision{decision: verb}.set(t.Context(), api, "r")
		if got != want || err != nil {
			t.Errorf("%s: %q, %v", verb, got, err)
		}
	}
	// One that was answered otherwise before is not another.
	if got, err := (decision{decision: v1alpha1.Approve}).set(t.Context(), api, "denied"); strings.Contains(got, "although") || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
