package chart

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	v3loader "helm.sh/helm/v3/pkg/chart/loader"
	v3util "helm.sh/helm/v3/pkg/chartutil"
	v3engine "helm.sh/helm/v3/pkg/engine"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

const dir = "../../chart"

var release = Release{Name: "millwright", Namespace: "kube-system", APIs: []string{"monitoring.coreos.com/v1"}}

func load(t *testing.T) *v2.Chart {
	t.Helper()
	c, err := Load(dir, "v1.2.3", time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func valuesOf(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Helm 4 and Helm 3 agree with the golden file of each set of values.
func TestValuesRenderToWhatIsOnFile(t *testing.T) {
	for _, name := range []string{"aws", "observe", "everything", "karpenter"} {
		values := filepath.Join("testdata", name+".yaml")
		rendered, err := Render(load(t), release, valuesOf(t, values))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.Join(Documents(rendered), "\n---\n") + "\n---\n" + rendered["millwright/templates/NOTES.txt"]
		golden := filepath.Join("testdata", name+".golden")
		if *rewrite {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is rendered differently: go test -rewrite, and read the diff", name)
		}
		third, err := render3(t, valuesOf(t, values))
		if err != nil || !slices.Equal(Documents(third), Documents(rendered)) {
			t.Errorf("%s: %v, Helm 3 renders\n%s", name, err, strings.Join(Documents(third), "\n---\n"))
		}
	}
}

// render3 is Render by the library of Helm 3.
func render3(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	c, err := v3loader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.Metadata.Version, c.Metadata.AppVersion = "1.2.3", "v1.2.3"
	capabilities := v3util.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, release.APIs...)
	all, err := v3util.ToRenderValues(c, values, v3util.ReleaseOptions{Name: release.Name, Namespace: release.Namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	return v3engine.Render(c, all)
}

func TestWrongValuesAreRefusedWithWhatToDo(t *testing.T) {
	for name, row := range map[string]struct{ values, want string }{
		"a typo":                         {`settings: {clusterNmae: demo}`, "'clusterNmae' not allowed"},
		"a value that Karpenter renamed": {`settings: {aws: {clusterName: demo}}`, "settings.clusterName is not set"},
		"no cluster":                     {`{}`, "settings.clusterName is not set"},
		"an unknown provider":            {`settings: {provider: gcp}`, "value must be one of 'aws', 'kwok'"},
		"a number for a duration":        {`settings: {clusterName: a, batchIdleDuration: "1"}`, "/settings/batchIdleDuration"},
		"Karpenter's image":              {`{settings: {clusterName: a}, controller: {image: {repository: public.ecr.aws/karpenter/controller}}}`, "is Karpenter's image"},
		"a digest without its algorithm": {`{settings: {clusterName: a}, controller: {image: {digest: "0123"}}}`, "/controller/image/digest"},
		"one port for two":               {`{settings: {clusterName: a}, controller: {metrics: {port: 8081}}}`, "are both 8081"},
		"the port of profiles":           {`{settings: {clusterName: a}, controller: {profiling: true, metrics: {port: 6060}}}`, "and 6060, its port"},
		"a monitor without its operator": {`{settings: {clusterName: a}, serviceMonitor: {enabled: true}}`, "install the Prometheus operator first"},
		"a name with a capital":          {`{settings: {clusterName: a}, serviceAccount: {name: Bad_Name}}`, "/serviceAccount/name"},
		"more than all memory":           {`settings: {clusterName: a, vmMemoryOverheadPercent: 7.5}`, "/settings/vmMemoryOverheadPercent"},
		"fewer than no interfaces":       {`settings: {clusterName: a, reservedENIs: "-3"}`, "/settings/reservedENIs"},
		"an image without a name":        {`{settings: {clusterName: a}, controller: {image: {repository: ""}}}`, "/controller/image/repository"},
		"text for a budget":              {`{settings: {clusterName: a}, podDisruptionBudget: {maxUnavailable: most}}`, "/podDisruptionBudget/maxUnavailable"},
		"text for replicas":              {`{settings: {clusterName: a}, replicas: two}`, "/replicas"},
	} {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(row.values), &values); err != nil {
			t.Fatal(err)
		}
		_, err := Render(load(t), Release{Name: "a", Namespace: "b"}, values)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
}

// helm upgrade --reuse-values keeps the defaults of the chart that was installed: values that
// it did not have are missing, not empty.
func TestValuesThatAnOlderChartDidNotHaveAreLeftToTheBinary(t *testing.T) {
	values := map[string]any{}
	const older = `{settings: {clusterName: a, preferenceCost: null}, controller: {profiling: null, metrics: {port: 8080, authentication: null}}}`
	if err := yaml.Unmarshal([]byte(older), &values); err != nil {
		t.Fatal(err)
	}
	rendered, err := Render(load(t), Release{Name: "a", Namespace: "b"}, values)
	if err != nil {
		t.Fatal(err)
	}
	text := rendered["millwright/templates/deployment.yaml"]
	if strings.Contains(text, "nil") || strings.Contains(text, "PROFILING") || !strings.Contains(text, "METRICS_PORT") {
		t.Errorf("got\n%s", text)
	}
}

// The names are those of Karpenter's chart 1.14.1.
func TestValuesOfKarpentersChartHaveTheirPlace(t *testing.T) {
	names, err := os.ReadFile("testdata/karpenter-names.txt")
	if err != nil {
		t.Fatal(err)
	}
	values := valuesOf(t, filepath.Join(dir, "values.yaml"))
	for name := range strings.FieldsSeq(string(names)) {
		var at any = values
		for key := range strings.SplitSeq(name, ".") {
			within, ok := at.(map[string]any)
			if !ok {
				t.Fatalf("%s: there is no object to look for %s in", name, key)
			}
			if at, ok = within[key]; !ok {
				t.Errorf("%s has no place", name)
				break
			}
		}
	}
}

func TestTheChartHasFewValuesOfItsOwn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if own := strings.Count(string(text), "# (own)"); own == 0 || own > 40 {
		t.Errorf("%d values are marked (own)", own)
	}
}

// A process that only observes is granted no verb that changes anything but its events and
// its lease.
func TestThoseWhoObserveMayOnlyRead(t *testing.T) {
	rendered, err := Render(load(t), release, valuesOf(t, "testdata/observe.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	roles, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	for _, doc := range Documents(map[string]string{"access.yaml": rendered["millwright/templates/access.yaml"]}) {
		var obj struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []rbacv1.PolicyRule
			RoleRef  rbacv1.RoleRef
		}
		if err := yaml.Unmarshal([]byte(doc), &obj); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(obj.Kind, "Binding") {
			bound[obj.RoleRef.Kind+"/"+obj.RoleRef.Name] = true
		} else {
			roles[obj.Kind+"/"+obj.Metadata.Name] = obj.Rules
		}
	}
	if len(bound) < 3 {
		t.Fatalf("bound are %v", slices.Sorted(maps.Keys(bound)))
	}
	for name := range bound {
		for _, rule := range roles[name] {
			changes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
			if changes && !slices.Equal(rule.Resources, []string{"events"}) && !slices.Equal(rule.Resources, []string{"leases"}) {
				t.Errorf("%s: %v %v", name, rule.Verbs, rule.Resources)
			}
		}
	}
}

func TestTheSameChartIsPackagedToTheSameBytes(t *testing.T) {
	var packed [2][]byte
	for i := range packed {
		name, err := Package(load(t), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) != "millwright-1.2.3.tgz" {
			t.Errorf("called %s", name)
		}
		if packed[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packed[0], packed[1]) {
		t.Error("two packages differ")
	}
}
