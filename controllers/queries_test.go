package controllers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ofLibraries are the series that libraries export and queries ask for, with their labels.
var ofLibraries = map[string][]string{
	"leader_election_master_status": {"name"}, "process_resident_memory_bytes": nil, "process_cpu_seconds_total": nil,
	"rest_client_requests_total": {"code", "method", "host"}, "controller_runtime_reconcile_errors_total": {"controller"},
}

// What the chart's alerts and its dashboards ask Prometheus for are series that there are, and
// they are grouped by labels that those have.
func TestAlertsAndDashboardsAskForSeriesThatThereAre(t *testing.T) {
	there := map[string][]string{}
	for name, labels := range ofLibraries {
		there[name] = labels
	}
	for _, f := range registered(t) {
		there[f.name] = f.labels
	}
	files, err := filepath.Glob("../deploy/chart/files/dashboards/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	for _, file := range append(files, "../deploy/chart/files/alerts.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		queries := regexp.MustCompile(`(?m)^ *"?expr"?: "?(.+?)"?,?$`).FindAllStringSubmatch(string(text), -1)
		if len(queries) < 10 {
			t.Errorf("%s: %d queries were found", file, len(queries))
		}
		for _, q := range queries {
			checkQuery(t, there, filepath.Base(file), q[1])
		}
	}
}

// checkQuery finds fault with a query of series that are not there, or by labels that they
// do not have.
func checkQuery(t *testing.T, there map[string][]string, file, query string) {
	t.Helper()
	by := regexp.MustCompile(`(?:by|on) \(([^)]+)\)`)
	names := regexp.MustCompile(`\b(?:karpenter|millwright|operator|leader_election|process|rest_client|controller_runtime)_[a-z_]+`).
		FindAllString(regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(by.ReplaceAllString(query, ""), ""), -1)
	if len(names) == 0 {
		t.Errorf("%s: %s asks for nothing that is known", file, query)
	}
	labels := []string{"le", "namespace"} // the histogram's and the scrape's own
	for _, name := range names {
		have, ok := there[strings.TrimSuffix(name, "_bucket")]
		if !ok {
			t.Errorf("%s: no series %s", file, name)
		}
		labels = append(labels, have...)
	}
	for _, group := range by.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(group[1], ", ") {
			if !slices.Contains(labels, label) {
				t.Errorf("%s: %s groups by %s, which no series of it has", file, query, label)
			}
		}
	}
}
