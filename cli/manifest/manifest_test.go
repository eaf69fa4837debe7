package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// read reads one manifest from standard input.
func read(t *testing.T, text string) (*Result, error) {
	t.Helper()
	return Read([]string{Stdin}, strings.NewReader(text))
}

func names(r *Result) string {
	var list []string
	for _, o := range r.Objects {
		list = append(list, fmt.Sprintf("%s@%d", o, o.Line))
	}
	return strings.Join(list, " ")
}

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: %s
spec:
  containers:
  - name: main
    image: example.com/main
`

func TestEveryFormOfInputGivesTheSameObjects(t *testing.T) {
	a, b := fmt.Sprintf(pod, "a"), fmt.Sprintf(pod, "b")
	item := func(s string) string {
		return "- " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n"
	}
	const aJSON, bJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[]}}`, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"containers":[]}}`
	for name, c := range map[string]struct{ text, want string }{
		"documents":             {a + "---\n" + b, "Pod default/a@1 Pod default/b@9"},
		"comments and blanks":   {"# head\n---\n\n# none\n---\n" + a + "--- # next\n" + b + "---\n", "Pod default/a@5 Pod default/b@14"},
		"an end marker":         {a + "...\n" + b, "Pod default/a@1 Pod default/b@10"},
		"a directive":           {"%YAML 1.2\n---\n" + a, "Pod default/a@2"},
		"a byte order mark":     {"\ufeff" + a, "Pod default/a@1"},
		"UTF-16, little end":    {inUTF16(binary.LittleEndian, a+"---\n"+b), "Pod default/a@1 Pod default/b@9"},
		"UTF-16, big end":       {inUTF16(binary.BigEndian, a+"---\n"+b), "Pod default/a@1 Pod default/b@9"},
		"carriage returns only": {strings.ReplaceAll(a+"---\n"+b, "\n", "\r"), "Pod default/a@1 Pod default/b@9"},
		"lines of Windows":      {strings.ReplaceAll(a+"---\n"+b, "\n", "\r\n"), "Pod default/a@1 Pod default/b@9"},
		"a list as of kubectl":  {"apiVersion: v1\nitems:\n" + item(a) + item(b) + "kind: List\nmetadata:\n  resourceVersion: \"\"\n", "Pod default/a@3 Pod default/b@11"},
		"an indented list":      {"apiVersion: v1\nkind: List\nitems:\n  " + strings.ReplaceAll(strings.TrimSpace(item(a)), "\n", "\n  ") + "\n", "Pod default/a@4"},
		"a typed list":          {"apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n", "Pod default/a@4 Pod default/b@5"},
		"a list of lists":       {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: PodList\n  items:\n  - metadata: {name: a}\n", "Pod default/a@7"},
		"an empty list":         {"apiVersion: v1\nitems: []\nkind: List\n", ""},
		"an empty JSON list":    {`{"apiVersion":"v1","items":[],"kind":"List"}`, ""},
		"an anchor across items": {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a, labels: &l {app: web}}\n" +
			"- apiVersion: v1\n  kind: Pod\n  metadata: {name: b, labels: *l}\n", "Pod default/a@4 Pod default/b@7"},
		"JSON":                   {aJSON, "Pod default/a@1"},
		"JSON after JSON":        {aJSON + "\n" + bJSON, "Pod default/a@1 Pod default/b@2"},
		"a JSON list":            {"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n" + aJSON + ",\n" + bJSON + "\n]}", "Pod default/a@2 Pod default/b@3"},
		"flow style, not JSON":   {"{apiVersion: v1, kind: Pod, metadata: {name: a}}", "Pod default/a@1"},
		"a marker in a literal":  {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    text: |\n      ---\n      - x\n", "Pod default/a@1"},
		"nothing":                {"", ""},
		"nothing but a comment":  {"# nothing\n", ""},
		"a namespace":            {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n", "Pod shop/a@1"},
		"a cluster-scoped thing": {"apiVersion: v1\nkind: Node\nmetadata: {name: node}\n", "Node node@1"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := read(t, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(r); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// inUTF16 is what PowerShell makes of redirected output.
func inUTF16(order binary.AppendByteOrder, s string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + s)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestACompressedFileIsNamed(t *testing.T) {
	_, err := read(t, "\x1f\x8b\x08\x00")
	if err == nil || !strings.Contains(err.Error(), "stdin: the file is compressed") {
		t.Errorf("got %v", err)
	}
}

const wrongPool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - key: kubernetes.io/arch
        operator: In
        values: [amd64]
      expireAfer: 24h
`

func TestWhatIsWrongIsNamedWithFileObjectAndField(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n"
	for name, c := range map[string]struct{ text, want string }{
		"malformed YAML":                {fmt.Sprintf(pod, "a") + "---\nkind: Pod\n  bad: indent\n", "stdin:11: malformed YAML: mapping values are not allowed in this context"},
		"a tab":                         {"apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n", "stdin:4: malformed YAML: found character that cannot start any token"},
		"a key twice":                   {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n", `stdin:5: malformed YAML: key "name" already set in map`},
		"cut-off JSON":                  {`{"apiVersion": "v1", "kind":`, "stdin:1: malformed YAML: did not find expected node content"},
		"a scalar":                      {"hello\n", "stdin:1: not a Kubernetes object: want an object, got the string \"hello\""},
		"a list at the top":             {"- a\n- b\n", "stdin:1: not a Kubernetes object: want an object, got a list"},
		"a name that YAML takes for no": {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: n\n", "stdin:4: metadata.name: not a Kubernetes object: want a string, got false"},
		"no kind":                       {"apiVersion: v1\nmetadata: {name: a}\n", "stdin:1: kind: missing; every object needs apiVersion and kind"},
		"no apiVersion":                 {"\nkind: Pod\nmetadata: {name: a}\n", "stdin:2: Pod: apiVersion: missing; every object needs apiVersion and kind"},
		"no name":                       {"apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {a: b}\n", "stdin:3: Pod : metadata.name: missing; every object needs a name"},
		"an unknown pool field":         {wrongPool, "stdin:13: NodePool general: spec.template.spec.expireAfer: unknown field"},
		"an old version":                {"apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n", "stdin:1: NodePool a: apiVersion: karpenter.sh/v1beta1 is not read; write karpenter.sh/v1"},
		"an unknown field": {
			deployment + "  template:\n    spec:\n      containers:\n      - name: main\n        resorces: {}\n",
			"stdin:9: Deployment shop/web: spec.template.spec.containers[0].resorces: unknown field",
		},
		"a wrong type": {
			deployment + "  replicas: three\n",
			`stdin:5: Deployment shop/web: spec.replicas: want an integer, got the string "three"`,
		},
		"a bad quantity": {
			deployment + "  template:\n    spec:\n      containers:\n      - name: main\n        resources:\n          requests:\n            cpu: 1\n            memory: 2 gigs\n",
			"stdin:12: Deployment shop/web: spec.template.spec.containers[0].resources.requests[memory]: quantities must match the regular expression",
		},
		"an item of a list": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: a\n  spec:\n    nodeSelector: [x]\n",
			"stdin:9: Pod a: spec.nodeSelector: want an object, got a list",
		},
		"an item of a JSON list": {
			"{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{\"apiVersion\": \"v1\", \"kind\": \"Pod\",\n \"metadata\": {\"name\": \"a\"}, \"spec\": {\n\"nodename\": \"x\"}}]}",
			"stdin:4: Pod a: spec.nodename: unknown field",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, c.text)
			var errs Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got %v, want Errors", err)
			}
			if got := errs[0].Error(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAllErrorsOfAnInputAreReportedInItsOrder(t *testing.T) {
	_, err := read(t, "kind: Pod\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {a: 1, b: 2}\n---\nx: [\n")
	want := `stdin:1: Pod: apiVersion: missing; every object needs apiVersion and kind
stdin:6: Pod a: spec.a: unknown field
stdin:6: Pod a: spec.b: unknown field
stdin:8: malformed YAML: did not find expected node content`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestManyErrorsAreCutShort(t *testing.T) {
	_, err := read(t, strings.Repeat("kind: Pod\n---\n", 25))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != maxShown+1 || lines[maxShown] != "and 5 more" {
		t.Errorf("got\n%v", err)
	}
}

func TestUnknownFieldsOfTheStatusArePassedOver(t *testing.T) {
	r, err := read(t, "apiVersion: v1\nkind: Node\nmetadata: {name: node}\nstatus: {fromTheFuture: {a: 1}}\n")
	if err != nil || len(r.Objects) != 1 {
		t.Errorf("got %v, %v", r, err)
	}
}

// An API server takes both versions of an autoscaler; only the newer one has a type here.
func TestAnAutoscalerOfTheFirstVersionIsNoError(t *testing.T) {
	const of = "kind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a}"
	r, err := read(t, "apiVersion: autoscaling/v1\n"+of+", targetCPUUtilizationPercentage: 80}\n---\napiVersion: autoscaling/v2\n"+of+"}\n")
	if err != nil || len(r.Objects) != 1 || r.Ignored["HorizontalPodAutoscaler.autoscaling"] != 1 {
		t.Errorf("got %v, %v", r, err)
	}
}

// As helm template prints them.
func TestOfTheHooksOfAChartThoseOfAnInstallCount(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a%s, annotations: {helm.sh/hook: \"%s\"}}\n---\n"
	r, err := read(t, fmt.Sprintf(pod, "1", "test")+fmt.Sprintf(pod, "2", "post-delete")+fmt.Sprintf(pod, "3", "pre-install,pre-upgrade")+fmt.Sprintf(pod, "4, uid: x", "test"))
	if err != nil || len(r.Objects) != 2 || r.Ignored["hook of a chart"] != 2 {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestKindsThatSayNothingAboutMachinesAreCounted(t *testing.T) {
	r, err := read(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\n---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Objects) != 1 || r.Objects[0].Kind != "CronJob" || r.Ignored["Secret"] != 2 || r.Ignored["CronJob.batch"] != 1 {
		t.Errorf("got %v, %v", r.Objects, r.Ignored)
	}
}

func TestAPoolArrivesWithItsDefaults(t *testing.T) {
	r, err := read(t, strings.ReplaceAll(wrongPool, "      expireAfer: 24h\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	pool := r.Objects[0].Object.(*karpv1.NodePool)
	if pool.Spec.Template.Spec.ExpireAfter.Duration == nil || len(pool.Spec.Disruption.Budgets) != 1 {
		t.Errorf("got %+v", pool.Spec)
	}
}

func TestALargeInputKeepsItsOrder(t *testing.T) {
	const n = 500
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "---\n"+pod, fmt.Sprintf("p-%03d", i))
	}
	r, err := read(t, text.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Objects) != n || !slices.IsSortedFunc(r.Objects, func(a, b Object) int { return strings.Compare(a.GetName(), b.GetName()) }) {
		t.Errorf("%d objects, or out of order", len(r.Objects))
	}
	if _, ok := r.Objects[0].Object.(*corev1.Pod); !ok {
		t.Errorf("got %T", r.Objects[0].Object)
	}
}

func TestAnErrorAboutAFieldNamesItsLine(t *testing.T) {
	r, err := read(t, "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: web\n    labels:\n      a.b/c: d\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Objects[0].Object.(*appsv1.Deployment); !ok {
		t.Fatalf("got %T", r.Objects[0].Object)
	}
	got := r.Objects[0].Errorf("metadata.labels[a.b/c]", "is %s", "odd").Error()
	if want := "stdin:9: Deployment default/web: metadata.labels[a.b/c]: is odd"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFindFollowsKubectl(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a.yml", "c.json", "notes.txt", "sub/d.yaml", "empty/x.txt"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args      []string
		recursive bool
		want      string
		fails     string
	}{
		"a directory":            {args: []string{"."}, want: "a.yml b.yaml c.json"},
		"a directory, recursive": {args: []string{"."}, recursive: true, want: "a.yml b.yaml c.json sub/d.yaml"},
		"a file of any name":     {args: []string{"notes.txt", "sub"}, want: "notes.txt sub/d.yaml"},
		"standard input":         {args: []string{"-", "b.yaml"}, want: "- b.yaml"},
		"a missing file":         {args: []string{"gone.yaml"}, fails: "gone.yaml: no such file"},
		"an empty directory":     {args: []string{"empty"}, fails: "no .json, .yaml or .yml file in this directory; -R looks into subdirectories"},
		"a URL":                  {args: []string{"https://example.com/x.yaml"}, fails: "not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(dir)
			files, err := Find(c.args, c.recursive)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want … %s …", err, c.fails)
				}
				return
			}
			if got := strings.Join(files, " "); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func FuzzReadNeverPanicsAndBlamesALineOfTheInput(f *testing.F) {
	f.Add(fmt.Sprintf(pod, "a") + "---\n" + wrongPool)
	f.Add("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n")
	f.Add(`{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","apiVersion":"v1"},null,3]}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Read([]string{Stdin}, strings.NewReader(text))
		var errs Errors
		errors.As(err, &errs)
		for _, e := range errs {
			if e.Line < 1 || e.Line > strings.Count(text, "\n")+2 {
				t.Errorf("line %d: %v", e.Line, e)
			}
		}
	})
}
