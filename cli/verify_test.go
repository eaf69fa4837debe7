package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cluster"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// stuck is a machine of pool web that is registered since noon and waits for a
// startup taint, and a pool without machines.
func stuck(t *testing.T) client.WithWatch {
	t.Helper()
	at := func(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(d)) }
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}, CreationTimestamp: at(-time.Minute)},
		Spec:       karpv1.NodeClaimSpec{StartupTaints: []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}}},
		Status: karpv1.NodeClaimStatus{ProviderID: "kwok://web-1", NodeName: "ip-1", Conditions: []status.Condition{
			{Type: "Launched", Status: metav1.ConditionTrue, Reason: "Launched", LastTransitionTime: at(-50 * time.Second)},
			{Type: "Registered", Status: metav1.ConditionTrue, Reason: "Registered", LastTransitionTime: at(0)},
			{Type: "Initialized", Status: metav1.ConditionUnknown, Reason: "StartupTaintsExist", Message: "startup taint cni:NoExecute is still on node/ip-1", LastTransitionTime: at(-time.Minute)},
		}},
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "ip-1", CreationTimestamp: at(-10 * time.Second), Labels: map[string]string{"karpenter.sh/registered": "true"}},
		Spec:       corev1.NodeSpec{ProviderID: "kwok://web-1", Taints: claim.Spec.StartupTaints},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at(time.Second)}}},
	}
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ip-9"}}
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, cluster.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(kinds).WithObjects(claim, node, foreign).WithStatusSubresource(claim).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).Build()
}

// free lets the machine become ready for work.
func free(t *testing.T, c client.Client) {
	t.Helper()
	claim := &karpv1.NodeClaim{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "web-1"}, claim); err != nil {
		t.Fatal(err)
	}
	claim.Status.Conditions[2] = status.Condition{Type: "Initialized", Status: metav1.ConditionTrue, Reason: "Initialized", LastTransitionTime: metav1.NewTime(noon.Add(30 * time.Second))}
	if err := c.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "ip-1"}, node); err != nil {
		t.Fatal(err)
	}
	node.Spec.Taints, node.Labels["karpenter.sh/initialized"] = nil, "true"
	if err := c.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

// verify runs the command; while it waits, time passes a second at a time.
func verify(t *testing.T, reader client.Reader, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{Out: &out, ErrOut: &out}
	mode := color.Never
	clk := clocktesting.NewFakeClock(noon.Add(time.Minute))
	cmd := newVerifyWith(console{streams, &mode}, verification{clock: clk, connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return reader, nil }})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(t.Context()) }()
	for {
		select {
		case err := <-done:
			return out.String(), ExitCode(err)
		default:
			if clk.HasWaiters() {
				clk.Step(time.Second)
			}
		}
	}
}

func TestVerifyNamesTheGateTheObjectAndSinceWhen(t *testing.T) {
	c := stuck(t)
	out, code := verify(t, c, "pool", "web", "--timeout", "20s")
	want := `node/ip-1 (nodeclaim/web-1, nodepool/web)
  [x] Launched         2026-03-11T11:59:10Z
  [x] NodeJoined       2026-03-11T12:00:00Z
  [x] Registered       2026-03-11T12:00:00Z
  [x] NodeReady        2026-03-11T12:00:01Z
  [ ] StartupTaints    2026-03-11T12:00:00Z  startup taint cni:NoExecute is still on node/ip-1; overdue from 2026-03-11T12:15:00Z on
  [x] EphemeralTaints  -
  [x] Resources        -
  [x] DRADrivers       -
  [x] CSIDrivers       -
  [x] NodeConditions   -
  [x] DaemonSets       -
node/ip-1 is not initialized: startup taint cni:NoExecute is still on node/ip-1 (since 2026-03-11T12:00:00Z)
not verified within 20s
`
	if out != want || code != ExitFindings {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	free(t, c)
	out, code = verify(t, c, "nodepool", "web")
	if code != ExitOK || !strings.Contains(out, "node/ip-1 (nodeclaim/web-1, nodepool/web) initialized 1m30s after its creation") || !strings.HasSuffix(out, "1 machine is initialized\n") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}

func TestVerifyPrintsADocumentForPrograms(t *testing.T) {
	c := stuck(t)
	read := func(want int) (doc verifiedDoc) {
		out, code := verify(t, c, "pool", "web", "--timeout", "5s", "-o", "json")
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != want {
			t.Fatalf("exit status %d, %v:\n%s", code, err, out)
		}
		return doc
	}
	doc := read(1)
	if doc.Verified || len(doc.Problems) != 1 || len(doc.Machines) != 1 {
		t.Fatalf("got %+v", doc)
	}
	m := doc.Machines[0]
	i := slices.IndexFunc(m.Gates, func(g explain.Gate) bool { return !g.Open })
	if m.Node != "ip-1" || m.Initialized || i < 0 || m.Gates[i].Reason != "StartupTaintsExist" || !m.Gates[i].Since.Equal(noon) {
		t.Errorf("got %+v", m)
	}
	free(t, c)
	if doc := read(0); !doc.Verified || len(doc.Problems) != 0 || !doc.Machines[0].Initialized {
		t.Errorf("got %+v", doc)
	}
	if out, code := verify(t, c, "pool", "web", "-o", "xml"); code != 2 {
		t.Errorf("exit status %d\n%s", code, out)
	}
}

func TestVerifySaysWhatIsMissing(t *testing.T) {
	c := stuck(t)
	free(t, c)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a node":                       {[]string{"node", "ip-1"}, ExitOK, "1 machine is initialized"},
		"a claim":                      {[]string{"nodeclaims", "web-1"}, ExitOK, "1 machine is initialized"},
		"a claim that is not there":    {[]string{"claim", "web-2", "web-1"}, ExitFindings, "nodeclaim/web-2 does not exist"},
		"a node that is not ours":      {[]string{"node", "ip-9"}, ExitFindings, "node/ip-9 belongs to no NodeClaim"},
		"a pool without machines":      {[]string{"pool", "db"}, ExitFindings, "nodepool/db has no machines"},
		"a pool that needs none":       {[]string{"pool", "db", "--at-least", "0"}, ExitOK, "0 machines are initialized"},
		"a pool with too few machines": {[]string{"pool", "web", "--at-least", "2"}, ExitFindings, "nodepool/web has 1 of at least 2 machines"},
		"something else":               {[]string{"pod", "web"}, ExitError, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := verify(t, c, append(test.args, "--timeout", "3s")...)
			if code != test.code || !strings.Contains(out, test.want) {
				t.Errorf("exit status %d:\n%s", code, out)
			}
		})
	}
}

func TestWhyBeginsWithTheVerdictAndEndsWithWhatWouldHaveToChange(t *testing.T) {
	c := stuck(t)
	why := func() string {
		var out bytes.Buffer
		mode := color.Never
		q := question{clock: clocktesting.NewFakeClock(noon.Add(time.Minute)), connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return c, nil }}
		cmd := newWhyWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, q)
		cmd.SetArgs([]string{"node", "ip-1"})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	got := why()
	for _, want := range []string{
		"node/ip-1 is not ready: startup taint cni:NoExecute is still on node/ip-1.\nThat has been so since 2026-03-11T12:00:00Z (1m0s).\n",
		"\n  [ ] StartupTaints    2026-03-11T12:00:00Z  startup taint",
		"\nWhat would have to change:\n  StartupTaints: the owner of the taint has to act; otherwise overdue from 2026-03-11T12:15:00Z on\n",
		"kubectl taint node ip-1 cni:NoExecute-",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 25 {
		t.Errorf("%d lines", lines)
	}
	free(t, c)
	claim := &karpv1.NodeClaim{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "web-1"}, claim); err != nil {
		t.Fatal(err)
	}
	claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{
		Type: "Unhealthy", Status: metav1.ConditionTrue, Reason: "RepairBudget", Message: "the budget is used up", LastTransitionTime: metav1.NewTime(noon),
	})
	if err := c.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if got := why(); !strings.HasPrefix(got, "node/ip-1 is unhealthy since 2026-03-11T12:00:00Z: the budget is used up.\n") || !strings.Contains(got, "\n  wait for the others") {
		t.Errorf("%s", got)
	}
	claim.Status.Conditions[3].Status = metav1.ConditionFalse
	if err := c.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if got := why(); !strings.HasPrefix(got, "node/ip-1 has been ready since 2026-03-11T12:00:30Z, 1m30s after its NodeClaim was created.\n") {
		t.Errorf("%s", got)
	}
}
