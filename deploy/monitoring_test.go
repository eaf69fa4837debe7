package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type alert struct {
	Alert, Expr string
	Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	text, err := os.ReadFile("chart/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var out []alert
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 10 {
		t.Fatalf("%d alerts", len(out))
	}
	return out
}

func TestEveryAlertHasItsRunbookAndEveryRunbookItsAlert(t *testing.T) {
	text, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var written, named []string
	for _, m := range regexp.MustCompile(`(?m)^## (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		written = append(written, m[1])
	}
	for _, a := range alerts(t) {
		named = append(named, a.Alert)
		if url := a.Annotations["runbook_url"]; !strings.HasSuffix(url, "/docs/runbooks.md#"+strings.ToLower(a.Alert)) {
			t.Errorf("the runbook of %s is at %q", a.Alert, url)
		}
	}
	slices.Sort(written)
	slices.Sort(named)
	if !slices.Equal(written, named) {
		t.Errorf("runbooks are for\n%q\nalerts are\n%q", written, named)
	}
}
