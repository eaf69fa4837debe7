package checkup_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/helm"
)

var noon = time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)

func manifests(files []string, _ bool) (*manifest.Result, error) { return manifest.Read(files, nil) }

func examine(t *testing.T, o checkup.Options) (found []doctor.Finding, notes []string) {
	t.Helper()
	note := func(format string, _ ...any) { notes = append(notes, format) }
	found, _, err := o.Examine(t.Context(), checkup.Readers{Manifests: manifests, Warn: note}, noon, note)
	if err != nil {
		t.Fatal(err)
	}
	return found, notes
}

func TestABaselineAcceptsWhatIsFoundForNinetyDays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.yaml")
	bad := checkup.Options{Given: checkup.Given{Files: []string{"../../doctor/testdata/agent-shut-out/bad.yaml"}}, WriteBaseline: file}
	found, _ := examine(t, bad)
	if len(found) == 0 {
		t.Fatal("nothing is found")
	}
	bad.WriteBaseline, bad.Baseline = "", file
	if left, _ := examine(t, bad); len(left) > 0 {
		t.Errorf("still %+v", left)
	}
	baseline, err := checkup.ReadBaseline(file)
	if err != nil {
		t.Fatal(err)
	}
	last := time.Date(2027, 1, 10, 23, 59, 0, 0, time.UTC)
	for at, want := range map[time.Time]int{last: 0, last.Add(time.Minute): len(found)} {
		if fresh, _, _ := baseline.Split(found, at); len(fresh) != want {
			t.Errorf("at %v there are %d, want %d", at, len(fresh), want)
		}
	}
	bad.Baseline, bad.WriteBaseline = "", file
	_, _, err = bad.Examine(t.Context(), checkup.Readers{Manifests: manifests}, noon, func(string, ...any) {})
	if err == nil || !strings.Contains(err.Error(), "file exists") {
		t.Errorf("a baseline is replaced: %v", err)
	}
}

// What the folder says to do mends everything that was found: the charts get the values in it,
// the objects the patches.
func TestTheFolderOfFixesMendsWhatIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fixes")
	const chart, written = "../../doctor/helm/testdata/chart", "../../doctor/testdata/pdb-allows-none/bad.yaml"
	given := checkup.Given{Files: []string{written}, Charts: checkup.Charts{{Path: chart, Values: []string{"../../doctor/helm/testdata/values/agent-shut-out.bad.yaml"}, Release: "fixture"}}}
	found, _ := examine(t, checkup.Options{Given: given, FixDir: dir})
	if len(found) < 2 {
		t.Fatalf("found %+v", found)
	}
	list, err := os.ReadFile(filepath.Join(dir, "FIXES"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "FIXES" && !strings.Contains(string(list), e.Name()+" (") {
			t.Errorf("FIXES does not name %s:\n%s", e.Name(), list)
		}
	}
	given.Charts[0].Values = append(given.Charts[0].Values, filepath.Join(dir, "fixture.values.yaml"))
	read := func(files []string, recursive bool) (*manifest.Result, error) {
		input, err := manifests(files, recursive)
		if err != nil {
			return nil, err
		}
		for i, o := range input.Objects {
			input.Objects[i].Object = patched(t, o, dir)
		}
		return input, nil
	}
	o := checkup.Options{Given: given}
	left, _, err := o.Examine(t.Context(), checkup.Readers{Manifests: read}, noon, func(string, ...any) {})
	if err != nil || slices.ContainsFunc(left, func(f doctor.Finding) bool { return f.Patch != nil }) {
		t.Errorf("%v: there is still %+v", err, left)
	}
}

// Before an apply the values of a release may not be known: it is passed over, unless its chart
// is given with values.
func TestAReleaseOfUnknownValuesIsExaminedWithThoseOfTheFlags(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan.json")
	const release = `{"address": "helm_release.a", "mode": "managed", "type": "helm_release", "values": {"name": "fixture", "chart": "fixture", "repository": "https://charts.example.com", "values": [null]}}`
	if err := os.WriteFile(plan, []byte(`{"planned_values": {"root_module": {"resources": [`+release+`]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]bool{"": false, "../../doctor/helm/testdata/values/agent-shut-out.bad.yaml": true} {
		given := checkup.Given{Terraform: []string{plan}, Charts: checkup.Charts{{Path: "../../doctor/helm/testdata/chart"}}}
		if values != "" {
			given.Charts[0].Values = []string{values}
		}
		found, notes := examine(t, checkup.Options{Given: given})
		examined := slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Object.Kind == "DaemonSet" })
		if examined != want || !slices.Contains(notes, "not examined: %s") {
			t.Errorf("with values %q: %+v, %v", values, found, notes)
		}
	}
}

// patched is an object with the patches of a folder that are about it, in order.
func patched(t *testing.T, o manifest.Object, dir string) client.Object {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*-"+strings.ToLower(o.Kind)+"-*"+o.GetName()+".patch.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	text, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(raw)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = patch.Apply(text); err != nil {
			t.Fatal(err)
		}
	}
	out, err := doctor.Decode(text, o.GetNamespace())
	if err != nil || out == nil {
		t.Fatalf("%s: %v", o, err)
	}
	return out
}

// Of a cluster the objects are examined as they are, and the fix is of the release that made
// them; what is no release is warned of.
func TestReleasesOfAClusterAreMendedByValues(t *testing.T) {
	agent := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "csi-node", Namespace: "kube-system"}}
	agent.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "r", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins_registry"}}}}
	agent.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}}
	secret := func(name string, data []byte) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Labels: helm.StoredLabels()},
			Type:       helm.StoredType, Data: map[string][]byte{helm.StoredKey: data},
		}
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cluster.AddToScheme(scheme), doctor.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(agent, secret("sh.helm.release.v1.csi.v1", release(t)), secret("broken", []byte("?"))).Build()
	var warnings []string
	o := checkup.Options{Given: checkup.Given{Releases: true}}
	found, _, err := o.Examine(t.Context(), checkup.Readers{
		Cluster: func() (client.Reader, error) { return reader, nil },
		Warn:    func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) },
	}, noon, func(string, ...any) {})
	if err != nil || len(found) != 1 || found[0].Fix == nil || !strings.HasPrefix(found[0].Fix.Do, "helm upgrade csi ") {
		t.Errorf("%v: %+v", err, found)
	}
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "not examined: secret/broken -n kube-system: reading a release: ") {
		t.Errorf("warnings %q", warnings)
	}
}

func release(t *testing.T) []byte {
	t.Helper()
	template := func(name string) map[string]any {
		text, err := os.ReadFile("../../doctor/helm/testdata/chart/templates/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"name": "templates/" + name, "data": text}
	}
	text, err := json.Marshal(map[string]any{
		"name": "csi", "namespace": "kube-system", "config": map[string]any{"agent": map[string]any{"enabled": true, "network": false, "tolerations": []any{}}},
		"chart": map[string]any{"metadata": map[string]any{"apiVersion": "v2", "name": "fixture", "version": "1.0.0"}, "templates": []any{template("agent.yaml")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
}
