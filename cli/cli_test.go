package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/millwright-dev/millwright/cli/version"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
)

// call runs a command line.
func call(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	streams, in, out, errOut := genericiooptions.NewTestIOStreams()
	in.WriteString(stdin)
	code = Main(t.Context(), streams, args)
	return out.String(), errOut.String(), code
}

func TestStoriesOfTheCommandLine(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return tell })
}

// bounds say how good a plan is, which placement improves and tests itself.
var bounds = regexp.MustCompile(`(lowerBoundPerHour"?: )[0-9.]+`)

// tell runs a line as a shell would: "." is an empty argument, "< file" standard
// input. It answers with the exit status and both streams.
func tell(t *testing.T, c storytest.Command) string {
	args := append([]string{c.Name}, c.Args...)
	var stdin string
	if i := slices.Index(args, "<"); i >= 0 {
		text, err := os.ReadFile(args[i+1])
		if err != nil {
			t.Fatal(err)
		}
		stdin, args = string(text), args[:i]
	}
	for i := range args {
		if args[i] == "." {
			args[i] = ""
		}
	}
	out, errOut, code := call(t, stdin, args...)
	var b strings.Builder
	for line := range strings.Lines(errOut) {
		b.WriteString("stderr: " + line)
	}
	b.WriteString(bounds.ReplaceAllString(out, "$1…"))
	fmt.Fprintf(&b, "exit %d", code)
	return b.String()
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	args := []string{"plan", "-f", "../examples/plan-10k", "-o", "json"}
	first, _, code := call(t, "", args...)
	if code != ExitOK {
		t.Fatalf("exit %d", code)
	}
	runtime.GC() // another layout of memory, another seed of the maps
	second, _, _ := call(t, "", args...)
	if first != second {
		t.Error("two runs differ")
	}
	var doc struct {
		APIVersion, Kind string
		Stats            struct {
			Pods, Classes int
		}
	}
	if err := json.Unmarshal([]byte(first), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.APIVersion != apiVersion || doc.Kind != "Plan" || doc.Stats.Pods != 10_000 || doc.Stats.Classes != 50 {
		t.Errorf("got %+v", doc)
	}
}

func TestTheTableIsForPeople(t *testing.T) {
	out, _, code := call(t, "", "plan", "-f", "testdata/manifests/pool.yaml", "-f", "testdata/manifests/web.yaml", "-f", "testdata/manifests/impossible.yaml")
	if code != ExitFindings {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"NODEPOOL", "m6g.xlarge", "on-demand", "$0.154/h", "shop/lost"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

func TestTimesGoToTheErrorStream(t *testing.T) {
	args := []string{"plan", "-f", "testdata/manifests/pool.yaml"}
	plain, _, _ := call(t, "", args...)
	timed, errOut, code := call(t, "", append(args, "--timing")...)
	if code != ExitOK || plain != timed || !strings.HasPrefix(errOut, "note: read in ") {
		t.Errorf("exit %d, output %q, errors %q", code, timed, errOut)
	}
}

func TestVersionSaysWhatTheBinarySpeaks(t *testing.T) {
	out, _, code := call(t, "", "version", "-o", "json")
	var v version.Document
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != ExitOK {
		t.Fatalf("exit %d: %v", code, err)
	}
	if v.APIVersion != apiVersion || v.Kind != "Version" || v.GoVersion != runtime.Version() || len(v.CRDHash) != 12 || v.NodePoolHash != "v3" {
		t.Errorf("got %+v", v)
	}
	if !slices.Contains(v.APIs, "karpenter.sh/v1") || !slices.Contains(v.APIs, "millwright.dev/v1alpha1") || v.Commit == "" {
		t.Errorf("got %+v", v)
	}
	text, _, _ := call(t, "", "version")
	if !strings.Contains(text, v.CRDHash) || !strings.Contains(text, v.GoVersion) {
		t.Errorf("got %s", text)
	}
}

func TestMessagesAreColouredOnlyWhereThatIsWanted(t *testing.T) {
	for name, c := range map[string]struct {
		args     []string
		env      map[string]string
		coloured bool
	}{
		"a pipe":                        {},
		"always":                        {args: []string{"--color", "always"}, coloured: true},
		"forced by the environment":     {env: map[string]string{"CLICOLOR_FORCE": "1"}, coloured: true},
		"not forced by a zero":          {env: map[string]string{"CLICOLOR_FORCE": "0"}},
		"NO_COLOR beats force":          {env: map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": ""}},
		"the flag beats NO_COLOR":       {args: []string{"--color", "always"}, env: map[string]string{"NO_COLOR": "1"}, coloured: true},
		"the flag beats CLICOLOR_FORCE": {args: []string{"--color", "never"}, env: map[string]string{"CLICOLOR_FORCE": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"NO_COLOR", "CLICOLOR_FORCE"} {
				t.Setenv(variable, "") // restored afterwards
				_ = os.Unsetenv(variable)
			}
			for variable, value := range c.env {
				t.Setenv(variable, value)
			}
			out, errOut, _ := call(t, "", append([]string{"plan", "-f", "testdata/manifests/impossible.yaml"}, c.args...)...)
			if got := strings.Contains(errOut, "\x1b["); got != c.coloured {
				t.Errorf("coloured %v: %q", got, errOut)
			}
			if strings.Contains(out, "\x1b[") {
				t.Error("data is coloured")
			}
		})
	}
}

func TestHelpDocumentsTheExitStatuses(t *testing.T) {
	for command, findings := range map[string]string{
		"": "something to object to", "plan": "a pod cannot be placed", "attachments": "wrong with a VolumeAttachment",
		"run": "", "why": "", "events": "", "policy test": "", "approve": "",
	} {
		out, _, code := call(t, "", append(strings.Fields(command), "--help")...)
		_, statuses, _ := strings.Cut(out, "Exit status:")
		_, one, found := strings.Cut(statuses, "\n  1  ")
		one, _, _ = strings.Cut(one, "\n")
		if code != ExitOK || !strings.Contains(statuses, "\n  2  ") || found != (findings != "") || !strings.Contains(one, findings) {
			t.Errorf("millwright %s: exit %d, %s", command, code, statuses)
		}
	}
}

func TestCompletionScriptsAreWritten(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, errOut, code := call(t, "", "completion", shell)
		if code != ExitOK || errOut != "" || !strings.Contains(out, "millwright") {
			t.Errorf("%s: exit %d, %s", shell, code, errOut)
		}
	}
}

func TestEveryExampleIsValid(t *testing.T) {
	for dir, want := range map[string]int{"workloads": ExitOK, "refused": ExitFindings} {
		for _, pools := range []string{"pools", "aws", "naive"} {
			out, errOut, code := call(t, "", "plan", "-R", "-f", "../examples/"+pools, "-f", "../examples/"+dir)
			noted := pools == "aws" && strings.HasPrefix(errOut, "note: ") // what a plan does not read of EC2NodeClasses
			if code != want || errOut != "" && !noted {
				t.Errorf("%s on %s: exit %d, want %d\n%s%s", dir, pools, code, want, errOut, out)
			}
		}
	}
}

func TestAPlanFromStandardInputReadsItOnce(t *testing.T) {
	text, err := os.ReadFile("testdata/manifests/pool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	out, _, code := call(t, string(text), "plan", "-f", "-", "-o", "json")
	if code != ExitOK || json.Indent(&want, []byte(out), "", "  ") != nil {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestWhatTakesLongCanBeInterrupted(t *testing.T) {
	in, open := io.Pipe() // nothing is ever written
	defer func() { _ = open.Close() }()
	ended := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	defer silent.Close()
	defer close(ended) // Close waits for requests that a command no longer waits for, also those that it makes only now
	for _, args := range [][]string{{"plan", "-f", "-"}, {"doctor", "--server", silent.URL}, {"adopt", "karpenter", "--server", silent.URL}, {"why", "pod", "a", "--server", silent.URL}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs bytes.Buffer
		if code := Main(ctx, genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &errs}, args); code != ExitError || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%q: exit %d: %s", args, code, errs.String())
		}
	}
}

func TestAnInterruptedCommandSaysSoHoweverItEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := &cobra.Command{RunE: func(*cobra.Command, []string) error { return ctx.Err() }}
	cmd.SetContext(ctx)
	interruptible(cmd)
	for range 1000 { // which of the two ends is seen first is chance
		if err := cmd.RunE(cmd, nil); err == nil || err.Error() != "interrupted" {
			t.Fatalf("got %v", err)
		}
	}
}

func TestAClusterWithoutTheKindsIsToldHowToGetThem(t *testing.T) {
	err := fmt.Errorf("listing NodeClaims: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "karpenter.sh", Kind: "NodeClaim"}})
	if got := message(err); !strings.HasPrefix(got, err.Error()+"\n") || !strings.Contains(got, "millwright crds upgrade") {
		t.Errorf("got %q", got)
	}
	if err := errors.New("refused"); message(err) != "refused" {
		t.Errorf("got %q", message(err))
	}
	err = fmt.Errorf("listing NodeClaims: %w", &apiutil.ErrResourceDiscoveryFailed{{Group: "karpenter.sh", Version: "v1"}: apierrors.NewNotFound(schema.GroupResource{}, "")})
	if got := message(err); !strings.HasPrefix(got, "listing NodeClaims: the cluster does not serve karpenter.sh/v1\n") {
		t.Errorf("got %q", got)
	}
}

func TestWithoutAnAPIServerARequestIsNamedAndNoLibrarysWayToIt(t *testing.T) {
	for _, command := range []string{"run --provider kwok --disable-leader-election", "why pod a", "events", "approve a"} {
		_, stderr, code := call(t, "", append(strings.Fields(command), "--server", "https://127.0.0.1:1")...)
		if _, last, _ := strings.Cut(stderr, "error: "); code != ExitError || strings.Contains(last, "failed to") || !strings.Contains(last, `: Get "https://127.0.0.1:1/api`) {
			t.Errorf("%s: %d %q", command, code, last)
		}
	}
}

// Only what is about objects of a namespace takes one.
func TestNoCommandIgnoresANamespace(t *testing.T) {
	var takes []string
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("namespace") != nil {
			takes = append(takes, cmd.Name())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(New(streams))
	if !slices.Equal(takes, []string{"why"}) {
		t.Errorf("-n is taken by %v", takes)
	}
}
