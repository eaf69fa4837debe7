package helm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/doctortest"
	"github.com/millwright-dev/millwright/doctor/helm"
	"github.com/millwright-dev/millwright/doctor/source"
)

func fixture(t *testing.T, values ...string) *source.Source {
	t.Helper()
	src, err := helm.Chart{Path: "testdata/chart", Values: values, Release: "fixture", Namespace: "kube-system"}.Source()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// examine is what a check finds in what a source generates.
func examine(t *testing.T, src *source.Source, check string) ([]doctor.Finding, *source.Set) {
	t.Helper()
	set := &source.Set{}
	objects, err := set.Add(src)
	if err != nil {
		t.Fatal(err)
	}
	if check == "nowhere-to-run" {
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "system"},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated", Value: "system", Effect: corev1.TaintEffectNoSchedule}}},
		})
	}
	found := slices.DeleteFunc(doctor.Examine(doctor.New(objects, true)), func(f doctor.Finding) bool { return f.Check != check })
	if err := set.Mend(found); err != nil {
		t.Fatal(err)
	}
	return found, set
}

// Of every check: bad values are found, good ones are not, and the values of the fix mend what
// is bad wherever a patch would. The values are those of a chart in the shape that drivers have,
// and, of every check, objects that values hold as they are.
func TestValuesAreExaminedByEveryCheckAndMended(t *testing.T) {
	written, err := filepath.Glob("testdata/values/*.bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range written {
		check := strings.TrimSuffix(filepath.Base(file), ".bad.yaml")
		t.Run(check, func(t *testing.T) {
			mended(t, check, fixture(t, file), fixture(t, filepath.Join("testdata/values", check+".good.yaml")))
		})
	}
	for _, check := range doctortest.Checks(doctortest.Chart) {
		t.Run(check+" of objects", func(t *testing.T) {
			mended(t, check, objects(t, check, "bad"), objects(t, check, "good"))
		})
	}
}

// Of every check: a release that a cluster keeps is examined and mended as its chart is.
func TestStoredReleasesAreExaminedByEveryCheckAndMended(t *testing.T) {
	for _, check := range doctortest.Checks(doctortest.Release) {
		t.Run(check, func(t *testing.T) {
			mended(t, check, kept(t, objects(t, check, "bad").Values), kept(t, objects(t, check, "good").Values))
		})
	}
}

// objects is the chart with the manifests of a check as values.
func objects(t *testing.T, check, which string) *source.Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata", check, which+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var list []any
	for _, doc := range strings.Split(string(text), "---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	out, err := yaml.Marshal(map[string]any{"objects": list, "controller": map[string]any{"enabled": false}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return fixture(t, file)
}

// mended wants a check to find what is bad and not what is good, and the fixes to mend it.
func mended(t *testing.T, check string, bad, good *source.Source) {
	t.Helper()
	found, set := examine(t, bad, check)
	if len(found) == 0 {
		t.Fatal("nothing is found")
	}
	if left, _ := examine(t, good, check); len(left) > 0 {
		t.Errorf("the good values: %+v", left)
	}
	for _, f := range found {
		if f.Origin != bad.Name || patchable(f) && f.Fix == nil {
			t.Errorf("%s: of %q, fix %+v: %s", f.Object, f.Origin, f.Fix, f.Advice)
		}
	}
	fixes, err := set.Fixes(found)
	if err != nil {
		t.Fatal(err)
	}
	bad.Values = source.Merge(bad.Values, merged(t, fixes))
	if left, _ := examine(t, bad, check); slices.ContainsFunc(left, patchable) {
		t.Errorf("with %v there is still %+v", bad.Values, left)
	}
}

// patchable reports whether a patch of the object mends a finding.
func patchable(f doctor.Finding) bool { return f.Patch != nil && len(f.Patch.Steps) > 0 }

func merged(t *testing.T, fixes []*doctor.Fix) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, f := range fixes {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(f.Text), &values); err != nil {
			t.Fatal(err)
		}
		out = source.Merge(out, values)
	}
	return out
}

func TestAFixKeepsWhatIsSetAndLeavesOutWhatTheTemplateAdds(t *testing.T) {
	found, _ := examine(t, fixture(t, "testdata/values/agent-shut-out.bad.yaml"), "agent-shut-out")
	const want = `agent:
  tolerations:
  - key: karpenter.sh/disrupted
    operator: Exists
  - effect: NoSchedule
    key: nvidia.com/gpu
    operator: Exists
`
	if len(found) != 1 || found[0].Fix == nil || found[0].Fix.Text != want {
		t.Fatalf("%+v", found)
	}
	const command = "helm upgrade --install fixture testdata/chart -n kube-system -f testdata/values/agent-shut-out.bad.yaml -f fixture.values.yaml"
	if found[0].Fix.Do != command {
		t.Errorf("it is applied by %s", found[0].Fix.Do)
	}
}

func TestSettingsWinOverFiles(t *testing.T) {
	src, err := helm.Chart{
		Path: "testdata/chart", Values: []string{"testdata/values/agent-shut-out.bad.yaml"}, Release: "it's", Namespace: "x",
		Settings: []helm.Setting{{Text: "agent.tolerations[0].operator=Exists"}, {Text: "agent.tolerations[0].key="}, {Text: "controller.podAnnotations.n=1", String: true}},
	}.Source()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := examine(t, src, "agent-shut-out"); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// Helm has what is set win over files of values, wherever it stands: the command leaves out what
// would undo the fix.
func TestTheCommandOfAFixDoesNotUndoIt(t *testing.T) {
	src, err := helm.Chart{
		Path: "testdata/chart", Values: []string{"testdata/values/pdb-allows-none.bad.yaml"}, Release: "a", Namespace: "b",
		Settings: []helm.Setting{{Text: "podDisruptionBudget.minAvailable=3"}, {Text: "controller.podAnnotations.n=1", String: true}},
	}.Source()
	if err != nil {
		t.Fatal(err)
	}
	found, set := examine(t, src, "pdb-allows-none")
	fixes, err := set.Fixes(found)
	if err != nil || len(fixes) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	const command = "helm upgrade --install a testdata/chart -n b -f testdata/values/pdb-allows-none.bad.yaml --set-string controller.podAnnotations.n=1 -f a.values.yaml"
	if fixes[0].Do != command {
		t.Errorf("it is applied by %s, with\n%s", fixes[0].Do, fixes[0].Text)
	}
}

func TestWhatNoValueDoesIsSaid(t *testing.T) {
	src := fixture(t, "testdata/values/controller-never-moves.bad.yaml")
	render := src.Render
	src.Render = func(map[string]any) ([]client.Object, error) { return render(src.Values) } // whatever is set
	found, _ := examine(t, src, "controller-never-moves")
	if len(found) != 1 || found[0].Fix != nil || !strings.Contains(found[0].Advice, "no value of chart fixture is known to do it") {
		t.Errorf("%+v", found)
	}
}

// A chart within another goes by its alias, Istio's charts keep their defaults below a value that is
// not to be set, what is a map is merged, and cert-manager's budget has no value for what is missing.
func TestValuesAreSetWhereAChartTakesThem(t *testing.T) {
	const claimed = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {strategy: {{ toJson .Values.deploymentStrategy }}, template: {spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}}}`
	const budget = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {{ with .Values.podDisruptionBudget }}{{ toJson . }}{{ else }}{minAvailable: "100%"}{{ end }}}`
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: operator, namespace: kube-system}, spec: {template: {spec: {tolerations: {{ toJson .Values.tolerations }}}}}}"
	for name, test := range map[string]struct{ check, chart, templates, values, want string }{
		"a map":       {"volume-of-one", ".", claimed, "deploymentStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}", "deploymentStrategy:\n  rollingUpdate: null\n  type: Recreate\n"},
		"a new value": {"pdb-allows-none", ".", budget, "podDisruptionBudget: {}", "podDisruptionBudget:\n  maxUnavailable: 1\n"},
		"an alias": {
			"nowhere-to-run", "charts/worker", deployment, "tolerations: []",
			"operator:\n  tolerations:\n  - effect: NoSchedule\n    key: dedicated\n    operator: Exists\n",
		},
		"Istio": {
			"nowhere-to-run", ".", `{{ $_ := set $ "Values" (mustMergeOverwrite $.Values._internal_defaults_do_not_set $.Values) }}` + deployment, "_internal_defaults_do_not_set: {tolerations: []}",
			"tolerations:\n- effect: NoSchedule\n  key: dedicated\n  operator: Exists\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"charts/worker/Chart.yaml":              "{apiVersion: v2, name: worker, version: 1.0.0}",
				"Chart.yaml":                            "{apiVersion: v2, name: parent, version: 1.0.0, dependencies: [{name: worker, alias: operator, version: 1.x.x}]}",
				test.chart + "/templates/operator.yaml": test.templates,
				test.chart + "/values.yaml":             test.values,
			} {
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			src, err := helm.Chart{Path: dir}.Source()
			if err != nil {
				t.Fatal(err)
			}
			if found, _ := examine(t, src, test.check); len(found) != 1 || found[0].Fix == nil || found[0].Fix.Text != test.want {
				t.Errorf("found %+v", found)
			}
		})
	}
}

func TestBadChartsAndValuesAreNamed(t *testing.T) {
	partial := t.TempDir()
	if err := os.WriteFile(filepath.Join(partial, "Chart.yaml"), []byte("{apiVersion: v2, name: partial, version: 1.0.0, dependencies: [{name: redis, version: 1.x.x, repository: none, condition: redis.enabled}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		chart helm.Chart
		want  string
	}{
		"half a chart":  {helm.Chart{Path: partial}, "not in its charts folder: redis; 'helm dependency build'"},
		"no chart":      {helm.Chart{Path: "testdata/gone"}, "chart testdata/gone: "},
		"not a chart":   {helm.Chart{Path: "testdata/values"}, "chart testdata/values: Chart.yaml file is missing"},
		"no values":     {helm.Chart{Path: "testdata/chart", Values: []string{"testdata/gone.yaml"}}, "reading values: open testdata/gone.yaml"},
		"no setting":    {helm.Chart{Path: "testdata/chart", Settings: []helm.Setting{{Text: "agent.tolerations[x]=1"}}}, `setting values: "agent.tolerations[x]=1": `},
		"not a mapping": {helm.Chart{Path: "testdata/chart", Values: []string{"testdata/chart/templates/NOTES.txt"}}, "reading values: testdata/chart/templates/NOTES.txt: "},
	} {
		if _, err := test.chart.Source(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	src := fixture(t)
	if _, err := src.Render(map[string]any{"controller": "none"}); err == nil || !strings.Contains(err.Error(), "chart fixture: ") {
		t.Errorf("values that a template cannot take: %v", err)
	}
}
