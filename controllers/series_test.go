package controllers

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	clocktesting "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/denied"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/metrics/conditions"
	"github.com/millwright-dev/millwright/controllers/metrics/state"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/internal/golden"
)

const seriesPage = "../docs/metrics.md"

// The page of the metrics lists what the controller registers: a series that is added or
// changed changes the page.
func TestThePageOfTheMetricsListsEverySeries(t *testing.T) {
	text, err := os.ReadFile(seriesPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(text), "| series |")
	if !ok {
		t.Fatalf("%s has no table", seriesPage)
	}
	all := registered(t)
	slices.SortFunc(all, func(a, b family) int { return strings.Compare(a.name, b.name) })
	var out strings.Builder
	out.WriteString(head + "| series | type | labels | time series per 1,000 machines, at most | meaning |\n|---|---|---|---|---|\n")
	total := 0
	for _, f := range all {
		n := f.count(t)
		total += n
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", f.name, f.kind, strings.Join(f.labels, ", "), thousands(n), f.help)
	}
	t.Logf("%d families, at most %s time series", len(all), thousands(total))
	golden.Compare(t, seriesPage, out.String())
}

// family are the series of one name.
type family struct {
	name, kind, help string
	labels           []string
	// each is how many time series one set of labels has.
	each int
}

// registered are the families of a registry as Run fills it.
func registered(t *testing.T) []family {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	into := &recorder{t: t}
	if _, err := metrics.New(into, metrics.Build{}); err != nil {
		t.Fatal(err)
	}
	into.MustRegister(state.New(loop.Deps{Clock: clocktesting.NewFakeClock(time.Unix(0, 0))}))
	into.MustRegister(denied.New(clock, nil))
	for _, c := range conditions.Trackers([]snapshot.ClassRef{{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass"}}, &karpv1.NodePool{}, clock) {
		into.MustRegister(c)
	}
	return into.families
}

// recorder is a registerer that takes note of families.
type recorder struct {
	t        *testing.T
	families []family
}

var described = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "(.*)", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

func (r *recorder) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)
	for d := range descs {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			return fmt.Errorf("cannot read %s", d)
		}
		f := family{name: m[1], help: strings.ReplaceAll(m[2], "|", `\|`)}
		if m[3] != "" {
			f.labels = strings.Split(m[3], ",")
		}
		f.kind, f.each = kindOf(c, f.name, len(f.labels))
		r.families = append(r.families, f)
	}
	return nil
}

func (r *recorder) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *recorder) Unregister(prometheus.Collector) bool { return false }

// kindOf is the type of a family, and how many time series each set of its labels has: a
// histogram has one for each bucket, the sum and the count.
func kindOf(c prometheus.Collector, name string, labels int) (string, int) {
	values := make([]string, labels)
	switch vec := c.(type) {
	case *prometheus.CounterVec:
		return "counter", 1
	case *prometheus.HistogramVec:
		var m dto.Metric
		_ = vec.WithLabelValues(values...).(prometheus.Metric).Write(&m) // a histogram can be written
		return "histogram", len(m.Histogram.Bucket) + 3
	case *prometheus.SummaryVec:
		var m dto.Metric
		_ = vec.WithLabelValues(values...).(prometheus.Metric).Write(&m) // as can a summary
		return "summary", len(m.Summary.Quantile) + 2
	case *conditions.Tracker:
		switch {
		case strings.HasSuffix(name, "_total"):
			return "counter", 1
		case strings.HasSuffix(name, "_transition_seconds"), strings.HasSuffix(name, "_termination_duration_seconds"):
			return "histogram", 15 + 3
		}
	}
	return "gauge", 1
}

// In the cluster for which series are counted, this is how many values a label has.
var values = map[string]int{
	"node_name": 1000, "instance_type": 1000, "nodepool": 10, "zone": 3, "zone_id": 1, "capacity_type": 2, "resource_type": 5,
	"managed": 1, "image_id": 2, "driver": 1, "namespace": 1, "scheduling_id": 1,
	"karpenter_sh_nodepool": 10, "karpenter_k8s_aws_ec2nodeclass": 2, "karpenter_sh_initialized": 2,
	"min_values_relaxed": 2, "consolidation_policy": 2, "termination_mode": 3, "consolidation_type": 4, "decision": 2,
	"controller": 6, "method": 6, "provider": 1, "error": 4, "code": 5, "operation": 5, "outcome": 5, "message_type": 11, "kind": 10, "state": 2,
	"verb": 4, "resource": 10, "group": 1, "type": 12, "status": 3, "condition": 6, "reason": 12, "result": 4,
	"check": 42, "severity": 1,
	"version": 1, "goversion": 1, "goarch": 1, "commit": 1,
}

// objects are how many objects the label "name" of a family tells apart, by a part of the
// family's name.
var objects = []struct {
	part string
	n    int
}{{"_nodeclaim_", 1000}, {"_ec2nodeclass_", 2}, {"_nodepool_", 10}, {"_node_", 1000}, {"_pods_unbound", 500}, {"_pods_unstarted", 500}, {"_pods_", 10_000}}

// conditionsOf are how many conditions an object of a kind has.
var conditionsOf = map[string]int{"_nodeclaim_": 9, "_ec2nodeclass_": 10, "_nodepool_": 5, "_node_": 5}

// count is how many time series the family has at most. Where a label names one object its
// other labels follow from it, and a condition has one status and one reason at a time.
func (f family) count(t *testing.T) int {
	t.Helper()
	n := f.each
	switch {
	case slices.Contains(f.labels, "name"):
		for _, o := range objects {
			if strings.Contains(f.name, o.part) {
				if slices.Contains(f.labels, "type") {
					n *= conditionsOf[o.part]
				}
				return n * o.n
			}
		}
		t.Fatalf("%s: of what is the label name?", f.name)
	case slices.Contains(f.labels, "node_name"):
		if slices.Contains(f.labels, "resource_type") {
			n *= values["resource_type"]
		}
		return n * values["node_name"]
	}
	for _, label := range f.labels {
		if values[label] == 0 {
			t.Fatalf("%s: how many values does the label %s have?", f.name, label)
		}
		n *= values[label]
	}
	return n
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
