package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/internal/golden"
)

// Each file of testdata/why is a situation: what is asked, which object and which
// remedy the answer must name, and the objects that are there besides base.yaml or
// in place of its own. The answer is in the .txt file beside it.
func TestWhyNamesTheObjectAndTheRemedyInAFewLines(t *testing.T) {
	files, err := filepath.Glob("testdata/why/*.yaml")
	if err != nil || len(files) < 13 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if name == "base" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			answer := ask(t, strings.Fields(comment(t, string(text), "ask")), "testdata/why/base.yaml", file)
			if n := strings.Count(answer, "\n"); n > 25 {
				t.Errorf("%d lines", n)
			}
			for _, what := range []string{"names", "fix"} {
				if want := comment(t, string(text), what); !strings.Contains(answer, want) {
					t.Errorf("does not say %q", want)
				}
			}
			sameForPrograms(t, answer, ask(t, append(strings.Fields(comment(t, string(text), "ask")), "-o", "json"), "testdata/why/base.yaml", file))
			golden.Compare(t, strings.TrimSuffix(file, ".yaml")+".txt", answer)
		})
	}
}

// sameForPrograms finds fault unless a document says what the text says.
func sameForPrograms(t *testing.T, text, document string) {
	t.Helper()
	var doc whyDoc
	if err := json.Unmarshal([]byte(document), &doc); err != nil || len(doc.Answers) != 1 {
		t.Fatalf("%v:\n%s", err, document)
	}
	a := doc.Answers[0]
	if a.Verdict == "" || a.Object.Name == "" || len(a.Reasons) == 0 || len(a.Fixes) == 0 {
		t.Errorf("something is missing:\n%s", document)
	}
	for _, line := range a.Summary {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the text does not say %q", line)
		}
	}
	for _, f := range a.Fixes {
		if !strings.Contains(text, "  "+f.What+"\n") {
			t.Errorf("the text does not say %q", f.What)
		}
	}
}

// comment is what a situation says after "# <what>: ".
func comment(t *testing.T, text, what string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "# "+what+": ")
	if !ok {
		t.Fatalf("no comment %q", what)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// What the cloud refused a moment ago is on no object, but the controller has said it.
func TestWhyRepeatsWhatOnlyTheControllerKnows(t *testing.T) {
	event := func(component string, at time.Time) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(component, at.Unix())}, Source: corev1.EventSource{Component: component},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "new-0"}, Reason: "FailedScheduling", LastTimestamp: metav1.NewTime(at), Message: "no machine is for sale",
		}
	}
	const said, fix = "But at 2026-03-11T11:57:00Z the controller reported: no machine is for sale.\n", "allow more zones, instance types or capacity types"
	for name, row := range map[string]struct {
		event *corev1.Event
		says  bool
	}{
		"by the controller":           {event("karpenter", noon.Add(-3*time.Minute)), true},
		"by the controller, long ago": {event("karpenter", noon.Add(-10*time.Minute)), false},
		"by kube-scheduler":           {event("default-scheduler", noon.Add(-3*time.Minute)), false},
	} {
		objects := append(objectsOf(t, "testdata/why/base.yaml", "testdata/why/refused_and_planned_again.yaml"), row.event)
		answer := askAbout(t, []string{"pod", "new-0", "--namespace", "default"}, objects...)
		if strings.Contains(answer, said) != row.says || strings.Contains(answer, fix) != row.says {
			t.Errorf("%s:\n%s", name, answer)
		}
		row.event.InvolvedObject, row.event.Reason = corev1.ObjectReference{Kind: "NodePool", Name: "general"}, "ReplicasMissing"
		objects[slices.IndexFunc(objects, isGeneral)].(*karpv1.NodePool).Spec.Replicas = new(int64(9))
		answer = askAbout(t, []string{"nodepool", "general"}, objects...)
		if strings.Contains(answer, said) != row.says || strings.Contains(answer, fix) != row.says || !strings.Contains(answer, " of 9 machines to be launched.\n") {
			t.Errorf("%s, of a static pool:\n%s", name, answer)
		}
	}
}

func isGeneral(o client.Object) bool {
	pool, ok := o.(*karpv1.NodePool)
	return ok && pool.Name == "general"
}

// A cluster goes on while it is read: a pod may be refused, or come, after the pods were listed.
func TestWhyAnswersForAPodThatItsSchedulerRefusesMeanwhile(t *testing.T) {
	const want = "pod/new-0 -n default needs a new node of nodepool/general"
	objects := objectsOf(t, "testdata/why/base.yaml", "testdata/why/refused_and_planned_again.yaml")
	if answer := askAbout(t, []string{"pod", "new-0", "--namespace", "default"}, objects...); !strings.Contains(answer, want) {
		t.Fatalf("as long as nothing happens, the answer is\n%s", answer)
	}
	for name, listed := range map[string]func(*corev1.PodList){
		"it came later": func(l *corev1.PodList) { l.Items = nil },
		"it was refused later": func(l *corev1.PodList) {
			for i := range l.Items {
				l.Items[i].Status.Conditions = nil
			}
		},
	} {
		late := interceptor.NewClient(fakeOf(t, objects...), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if pods, ok := list.(*corev1.PodList); ok {
				listed(pods)
			}
			return err
		}})
		if answer := askOf(t, late, "pod", "new-0", "--namespace", "default"); !strings.Contains(answer, want) {
			t.Errorf("%s:\n%s", name, answer)
		}
	}
}

// ask answers about the objects of files; later ones replace earlier ones.
func ask(t *testing.T, args []string, files ...string) string {
	t.Helper()
	return askAbout(t, args, objectsOf(t, files...)...)
}

func objectsOf(t *testing.T, files ...string) []client.Object {
	t.Helper()
	read, err := manifest.Read(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]int{}
	var objects []client.Object
	for _, o := range read.Objects {
		if i, again := index[o.String()]; again {
			objects[i] = o.Object
			continue
		}
		index[o.String()] = len(objects)
		objects = append(objects, o.Object)
	}
	return objects
}

func askAbout(t *testing.T, args []string, objects ...client.Object) string {
	t.Helper()
	return askOf(t, fakeOf(t, objects...), args...)
}

func askOf(t *testing.T, c client.Reader, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	mode := color.Never
	connect := func(*genericclioptions.ConfigFlags) (client.Reader, error) { return c, nil }
	cmd := newWhyWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, question{clock: clocktesting.NewFakePassiveClock(noon), connect: connect})
	cmd.SetArgs(append([]string{"--instance-types", "testdata/why/types.json"}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What EC2 said of subnets is on the class, and counts for pools and for pods.
func TestAZoneWithoutAddressesIsNamed(t *testing.T) {
	const want = "free addresses in the subnets of us-east-1a"
	for _, question := range []string{"nodepool general", "pod new-0 -n default"} {
		answer := ask(t, append(strings.Fields(question), "--instance-types", "ec2"), "testdata/why/base.yaml", "testdata/why/zones/full.yaml")
		if !strings.Contains(answer, want) {
			t.Errorf("%s: the answer is\n%s", question, answer)
		}
	}
}

func TestAPoolThatCanLaunchIsReady(t *testing.T) {
	if answer := ask(t, []string{"pool", "general", "-o", "yaml"}, "testdata/why/base.yaml"); !strings.Contains(answer, "verdict: Ready") {
		t.Errorf("the answer is\n%s", answer)
	}
}
