package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"gonum.org/v1/plot/plotter"

	"github.com/millwright-dev/millwright/sandbox/picture"
)

// pictures has the story of the dashboards' test begin with the demo's pods, and draws what
// each panel had to show.
var pictures = flag.String("pictures", "", "draw the dashboards' panels into this folder")

// panel is one of a dashboard's.
type panel struct {
	Title       string
	Targets     []struct{ Expr, LegendFormat string }
	FieldConfig struct{ Defaults struct{ Unit string } }
}

// units are Grafana's, as a picture says them.
var units = map[string]string{"currencyUSD": "$/h", "percent": "%", "s": "s", "bytes": "bytes", "reqps": "1/s"}

// demoPanels are what the README shows.
const demoPanels = `[
  {"title": "Pods", "targets": [
    {"expr": "count(karpenter_pods_state{namespace='default', phase='Pending'})", "legendFormat": "pending"},
    {"expr": "count(karpenter_pods_state{namespace='default', phase='Running'})", "legendFormat": "running"}]},
  {"title": "Machines by pool", "targets": [{"expr": "max by (nodepool) (karpenter_nodepools_usage{resource_type='nodes'})", "legendFormat": "{{nodepool}}"}]},
  {"title": "Price of all machines", "fieldConfig": {"defaults": {"unit": "currencyUSD"}}, "targets": [{"expr": "sum(karpenter_nodepools_cost_total)"}]}
]`

// demo has the pods of the demo run on machines that are launched for them, and go.
func (c *cluster) demo() {
	c.Helper()
	c.demoRuns()
	c.demoGoes()
	c.eventually(patience, func() error { return c.noOrphans(0) })
	c.shell("kubectl delete nodepools --all")
}

// draw writes a picture of each dashboard, and one of the demo.
func (s *scraper) draw(dir string, until time.Time) {
	s.c.Helper()
	boards, err := filepath.Glob(root + "/deploy/chart/files/dashboards/*.json")
	s.c.must(err)
	for _, file := range boards {
		text, err := os.ReadFile(file)
		s.c.must(err)
		var d struct{ Panels []panel }
		s.c.must(json.Unmarshal(text, &d))
		s.board(filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".json")+".svg"), d.Panels, s.last)
	}
	var demo []panel
	s.c.must(json.Unmarshal([]byte(demoPanels), &demo))
	s.board(filepath.Join(dir, "demo.svg"), demo, until)
}

// board draws the panels that have anything to show.
func (s *scraper) board(file string, panels []panel, until time.Time) {
	s.c.Helper()
	// Nothing marks a series as ended, so one that is not scraped again ends with the next look.
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 5_000_000, Timeout: time.Minute, LookbackDelta: 2500 * time.Millisecond})
	var drawn []picture.Panel
	for _, p := range panels {
		out := picture.Panel{Title: p.Title, Unit: units[p.FieldConfig.Defaults.Unit]}
		for _, target := range p.Targets {
			q, err := engine.NewRangeQuery(s.c.Context(), s.storage, nil, asked(target.Expr), s.first, until, time.Second)
			s.c.must(err)
			matrix, err := q.Exec(s.c.Context()).Matrix()
			s.c.must(err)
			for _, series := range matrix {
				if points := s.points(series); len(points) > 0 {
					out.Series = append(out.Series, picture.Series{Name: legend(target.LegendFormat, series), Points: points})
				}
			}
			q.Close()
		}
		slices.SortStableFunc(out.Series, func(a, b picture.Series) int { return cmp.Compare(peak(b), peak(a)) })
		if len(out.Series) > 0 {
			drawn = append(drawn, out)
		}
	}
	if len(drawn) == 0 {
		s.c.Fatal(errors.New("no panel has anything to show"))
	}
	var svg bytes.Buffer
	s.c.must(picture.Board(&svg, 3, until.Sub(s.first).Seconds(), drawn))
	s.c.must(os.WriteFile(file, svg.Bytes(), 0o644))
}

// points are the finite values of a series; quantiles of nothing are none.
func (s *scraper) points(series promql.Series) plotter.XYs {
	var out plotter.XYs
	for _, p := range series.Floats {
		if !math.IsNaN(p.F) && !math.IsInf(p.F, 0) {
			out = append(out, plotter.XY{X: float64(p.T-s.first.UnixMilli()) / 1000, Y: p.F})
		}
	}
	return out
}

func peak(s picture.Series) float64 {
	most := 0.0
	for _, p := range s.Points {
		most = max(most, math.Abs(p.Y))
	}
	return most
}

// legend fills a dashboard's name of a series in.
func legend(format string, series promql.Series) string {
	return strings.TrimSpace(regexp.MustCompile(`\{\{(\w+)\}\}`).ReplaceAllStringFunc(format, func(label string) string {
		return series.Metric.Get(strings.Trim(label, "{}"))
	}))
}
