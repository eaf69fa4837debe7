package helm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/millwright-dev/millwright/doctor/helm"
	"github.com/millwright-dev/millwright/doctor/source"
)

// stored is a release as Helm keeps it.
func stored(t *testing.T, release any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(release); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
}

// kept is a release of the chart that a cluster keeps.
func kept(t *testing.T, values map[string]any) *source.Source {
	t.Helper()
	chart, err := loader.Load("testdata/chart")
	if err != nil {
		t.Fatal(err)
	}
	src, err := helm.Stored(stored(t, map[string]any{"name": "fixture", "namespace": "kube-system", "version": 3, "chart": chart, "config": values}))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestAStoredReleaseIsExaminedAndMendedLikeItsChart(t *testing.T) {
	src := kept(t, map[string]any{"agent": map[string]any{"enabled": true, "tolerations": []any{}}})
	found, _ := examine(t, src, "agent-leaves-early")
	if len(found) != 1 || found[0].Fix == nil || found[0].Origin != "release kube-system/fixture (fixture 1.0.0)" {
		t.Fatalf("%+v", found)
	}
	if want := "helm upgrade fixture REPOSITORY/fixture --version 1.0.0 -n kube-system --reuse-values -f fixture.values.yaml"; found[0].Fix.Do != want {
		t.Errorf("it is applied by %s", found[0].Fix.Do)
	}
	if !strings.Contains(found[0].Fix.Text, "key: karpenter.sh/disrupted") {
		t.Error(found[0].Fix.Text)
	}
}

func TestBrokenReleasesAreNamed(t *testing.T) {
	for name, data := range map[string][]byte{"no base64": []byte("?"), "no gzip": []byte("AAAA"), "no chart": stored(t, map[string]any{"name": "x"}), "no release": stored(t, 1)} {
		if _, err := helm.Stored(data); err == nil || !strings.Contains(err.Error(), "reading a release: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
