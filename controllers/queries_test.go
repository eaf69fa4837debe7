package controllers

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/metrics/state"
)

// described is a registry that notes what is registered.
type described struct {
	prometheus.Registerer
	series map[string]string // name -> description
}

func (d described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for desc := range descs {
		d.series[name.FindStringSubmatch(desc.String())[1]] = desc.String()
	}
	return nil
}

// What the chart's alerts and its dashboard ask Prometheus for are series that there are,
// and they are grouped by labels that those have.
func TestAlertsAndDashboardAskForSeriesThatThereAre(t *testing.T) {
	there := described{series: map[string]string{}}
	if _, err := metrics.New(there, metrics.Build{}); err != nil {
		t.Fatal(err)
	}
	if err := there.Register(state.New(loop.Deps{Clock: clock.RealClock{}})); err != nil {
		t.Fatal(err)
	}
	for file, query := range map[string]*regexp.Regexp{
		"alerts.yaml":    regexp.MustCompile(`(?m)^    expr: (.+)$`),
		"dashboard.json": regexp.MustCompile(`(?m)^ *"expr": "(.+)",$`),
	} {
		text, err := os.ReadFile("../deploy/chart/files/" + file)
		if err != nil {
			t.Fatal(err)
		}
		queries := query.FindAllStringSubmatch(string(text), -1)
		if len(queries) < 5 {
			t.Errorf("%s: %d queries were found", file, len(queries))
		}
		for _, q := range queries {
			there.check(t, file, q[1])
		}
	}
}

func (d described) check(t *testing.T, file, query string) {
	t.Helper()
	names := regexp.MustCompile(`\b(karpenter|millwright)_[a-z_]+`).FindAllString(query, -1)
	var all string
	for _, name := range names {
		desc, ok := d.series[strings.TrimSuffix(name, "_bucket")]
		if !ok {
			t.Errorf("%s: no series %s", file, name)
		}
		all += desc
	}
	if len(names) == 0 {
		t.Errorf("%s: %s asks for nothing of Millwright's", file, query)
	}
	for _, by := range regexp.MustCompile(`by \(([^)]+)\)`).FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(by[1], ", ") {
			if label == "le" || label == "namespace" { // the histogram's and the scrape's own
				continue
			}
			if !regexp.MustCompile(`variableLabels: \{[^}]*\b` + label + `\b`).MatchString(all) {
				t.Errorf("%s: %s groups by %s, which no series of it has", file, query, label)
			}
		}
	}
}
