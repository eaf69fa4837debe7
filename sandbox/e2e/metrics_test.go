package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Where metrics ask who reads them, a token has to be accepted by the API server and its
// holder to be allowed to get /metrics.
func TestMetricsAreServedToThoseWhoMayReadThem(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: millwright-metrics-authentication}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: millwright-metrics-authentication}
subjects: [{kind: ServiceAccount, name: millwright, namespace: millwright-system}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: curious, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics-reader}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metrics-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
`)
	port, err := freePort()
	c.must(err)
	m := c.millwrightWith(nil, "--metrics-authentication", "--enable-profiling", "--profiling-port", port)
	url := strings.Replace(m.Metrics, "http://", "https://", 1)
	for who, want := range map[string]int{"": http.StatusUnauthorized, "curious": http.StatusForbidden, "prometheus": http.StatusOK} {
		token := ""
		if who != "" {
			answer, err := c.client.CoreV1().ServiceAccounts("default").CreateToken(c.Context(), who, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			c.must(err)
			token = answer.Status.Token
		}
		status, body := c.get(url, token)
		if status != want || (status == http.StatusOK) != strings.Contains(body, "karpenter_build_info{") {
			t.Errorf("%q is answered %d", who, status)
		}
	}
	if status, _ := c.get(m.Metrics, ""); status == http.StatusOK {
		t.Error("metrics are served without TLS too")
	}
	if status, body := c.get("http://127.0.0.1:"+port+"/debug/pprof/cmdline", ""); status != http.StatusOK || !strings.Contains(body, "run") {
		t.Errorf("profiles: %d", status)
	}
	if status, _ := c.get(strings.Replace(url, "/metrics", "/debug/pprof/", 1), ""); status == http.StatusOK {
		t.Error("profiles are served beside the metrics")
	}
}

// get asks for a URL, whose certificate may be signed by anyone.
func (c *cluster) get(url, token string) (status int, body string) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), http.MethodGet, url, http.NoBody)
	c.must(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	c.must(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	c.must(err)
	return resp.StatusCode, string(text)
}

// silentPanels may show nothing in the story below: no cloud fails there, nothing is announced,
// and no pool has a limit.
var silentPanels = map[string]bool{
	"Limits used/A": true, "Called off and failed/A": true, "Called off and failed/B": true, "Unhealthy/A": true, "Volume attachments/A": true,
	"Failed calls/A": true, "Announcements on record/A": true, "Messages of the queue/A": true, "Feed errors/A": true,
	"Writes refused/A": true, "Rights missing/A": true, "Age of the queue/A": true,
}

// Every query of the dashboards and alerts is one that Prometheus' own engine answers, over
// what the controller exports while machines come and go.
func TestPrometheusAnswersTheQueriesOfDashboardsAndAlerts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.millwright()
	s := c.scrape(m.Metrics)
	if *pictures != "" {
		c.demo()
	}
	demoed := time.Now()
	c.manifests(class + "---" + pool("blue", "amd64"))
	c.manifests(spread("web", 3))
	c.manifests(deployment("never", "nowhere", 1, "1", "1Gi"))
	c.eventually(patience, c.running("app=web", 3))
	gone := c.claims()[0].GetName()
	c.must(c.dynamic.Resource(nodeClaims).Delete(c.Context(), gone, metav1.DeleteOptions{}))
	c.eventually(patience, func() error {
		if slices.Contains(names(c.claims()), gone) {
			return fmt.Errorf("%s is still there", gone)
		}
		return c.running("app=web", 3)()
	})
	c.must(c.client.AppsV1().Deployments("default").Delete(c.Context(), "web", metav1.DeleteOptions{}))
	c.eventually(patience, func() error { return c.noOrphans(0) })
	s.after(3)
	s.stop()
	if *pictures != "" {
		s.draw(*pictures, demoed)
	}

	queries := panelQueries(t)
	for name, expr := range queries {
		title := name[strings.Index(name, "/")+1:]
		n, err := s.ask(expr)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case n == 0 && !silentPanels[title]:
			t.Errorf("%s shows nothing: %s", name, expr)
		}
	}
	for name, expr := range alertExpressions(t) {
		if _, err := s.ask(expr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d queries over %d scrapes", len(queries), s.scrapes)
	s.documented()
}

// scraper keeps what a page of metrics said, once a second.
type scraper struct {
	c       *cluster
	url     string
	storage *teststorage.TestStorage
	engine  *promql.Engine
	stop    func()

	mu          sync.Mutex
	scrapes     int
	first, last time.Time
	kinds       map[string]string // type by family
}

func (c *cluster) scrape(url string) *scraper {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	s := &scraper{c: c, url: url, storage: teststorage.New(c.T), kinds: map[string]string{}, first: time.Now(), engine: newEngine(c.T)}
	var done sync.WaitGroup
	done.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			if err := s.once(ctx); err != nil && ctx.Err() == nil {
				c.Errorf("scraping: %v", err)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	})
	s.stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	c.Cleanup(s.stop)
	return s
}

func newEngine(t *testing.T) *promql.Engine {
	return promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 5_000_000, Timeout: time.Minute, EnableNegativeOffset: true})
}

func (s *scraper) once(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	into := s.storage.Appender(ctx)
	p := textparse.NewPromParser(page, labels.NewSymbolTable(), false)
	for {
		switch entry, err := p.Next(); {
		case errors.Is(err, io.EOF):
			s.scrapes++
			return into.Commit()
		case err != nil:
			return errors.Join(err, into.Rollback())
		case entry == textparse.EntryType:
			name, kind := p.Type()
			s.kinds[string(name)] = string(kind)
		case entry == textparse.EntrySeries:
			_, _, value := p.Series()
			var l labels.Labels
			p.Labels(&l)
			if _, err := into.Append(0, l, s.last.UnixMilli(), value); err != nil {
				return errors.Join(err, into.Rollback())
			}
		}
	}
}

// after waits for more scrapes.
func (s *scraper) after(more int) {
	s.c.Helper()
	s.mu.Lock()
	want := s.scrapes + more
	s.mu.Unlock()
	s.c.eventually(time.Minute, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.scrapes < want {
			return fmt.Errorf("%d scrapes", s.scrapes)
		}
		return nil
	})
}

// ask returns how many series a query has over the whole time, as Grafana would ask it.
func (s *scraper) ask(expr string) (int, error) {
	q, err := s.engine.NewRangeQuery(s.c.Context(), s.storage, nil, asked(expr), s.first, s.last, time.Second)
	if err != nil {
		return 0, err
	}
	defer q.Close()
	matrix, err := q.Exec(s.c.Context()).Matrix()
	return len(matrix), err
}

// asked is a query with Grafana's variables filled in.
func asked(expr string) string {
	return strings.NewReplacer("$__rate_interval", "10s", "$nodepool", ".*").Replace(expr)
}

// documented checks that docs/metrics.md has every family of ours, with its type.
func (s *scraper) documented() {
	s.c.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/metrics.md"))
	s.c.must(err)
	ours := 0
	for name, kind := range s.kinds {
		if !strings.HasPrefix(name, "karpenter_") && !strings.HasPrefix(name, "millwright_") && !strings.HasPrefix(name, "operator_") {
			continue
		}
		ours++
		if !bytes.Contains(page, []byte("| `"+name+"` | "+kind+" |")) {
			s.c.Errorf("docs/metrics.md has no %s %s", kind, name)
		}
	}
	if ours < 30 {
		s.c.Errorf("%d families were seen", ours)
	}
}

func panelQueries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(root + "/deploy/chart/files/dashboards/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			Panels []struct {
				Title   string
				Targets []struct{ RefID, Expr string }
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Panels {
			for _, q := range p.Targets {
				out[filepath.Base(file)+"/"+p.Title+"/"+q.RefID] = q.Expr
			}
		}
	}
	return out
}

func alertExpressions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(root + "/deploy/chart/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range file.Groups[0].Rules {
		out[r.Alert] = r.Expr
	}
	return out
}

// Each alert has a state of the world in which it fires, and one in which it does not, each
// as series at one-minute intervals.
func TestAlertsFireWhenTheyShouldAndOnlyThen(t *testing.T) {
	engine := newEngine(t)
	cases := map[string]struct{ ill, well string }{
		"MillwrightAbsent": {`other 1x60`, `karpenter_build_info{namespace="a"} 1x60`},
		"MillwrightNotLeading": {`leader_election_master_status{name="karpenter-leader-election", pod="a"} 0x60`,
			"leader_election_master_status{name=\"karpenter-leader-election\", pod=\"a\"} 0x60\nleader_election_master_status{name=\"karpenter-leader-election\", pod=\"b\"} 1x60"},
		"MillwrightPodsWithoutMachine": {`karpenter_scheduler_unschedulable_pods_count 2x60`, `karpenter_scheduler_unschedulable_pods_count 0x60`},
		"MillwrightPoolAtLimit": {"karpenter_nodepools_usage{nodepool=\"a\", resource_type=\"cpu\"} 99x60\nkarpenter_nodepools_limit{nodepool=\"a\", resource_type=\"cpu\"} 100x60",
			"karpenter_nodepools_usage{nodepool=\"a\", resource_type=\"cpu\"} 50x60\nkarpenter_nodepools_limit{nodepool=\"a\", resource_type=\"cpu\"} 100x60"},
		"MillwrightCloudCallsFail":    {`karpenter_cloudprovider_errors_total{method="Create", error=""} 0+1x60`, `karpenter_cloudprovider_errors_total{method="Create", error="InsufficientCapacityError"} 0+1x60`},
		"MillwrightWriteRefused":      {`millwright_writes_refused_total{verb="patch", kind="Node", reason="Forbidden"} 0+1x60`, `millwright_writes_refused_total{verb="patch", kind="Node", reason="Conflict"} 0+1x60`},
		"MillwrightRightMissing":      {`millwright_rights_missing{verb="list", resource="nodes", group=""} 1x60`, `other 1x60`},
		"MillwrightInterruptionsLate": {`millwright_interruption_queue_age_seconds 90x60`, `millwright_interruption_queue_age_seconds 1x60`},
		"MillwrightMachineUnhealthy":  {`millwright_unhealthy_nodes{nodepool="a", condition="Ready", reason="RepairDue"} 1x60`, `millwright_unhealthy_nodes{nodepool="a", condition="Ready", reason="RepairDue"} 0x60`},
		"MillwrightMachinesDoNotJoin": {`karpenter_nodeclaims_disrupted_total{reason="registration_timeout", nodepool="a"} 0+1x60`, `karpenter_nodeclaims_disrupted_total{reason="empty", nodepool="a"} 0+1x60`},
		"MillwrightMachineDoesNotGo":  {`operator_nodeclaim_termination_current_time_seconds{name="a"} 4000x60`, `operator_nodeclaim_termination_current_time_seconds{name="a"} 40x60`},
		"MillwrightVolumesStuck":      {`millwright_volume_attachment_faults{reason="NodeGone", driver="d"} 1x60`, `millwright_volume_attachment_faults{reason="NodeGone", driver="d"} 0x60`},
	}
	all := alertExpressions(t)
	for name, expr := range all {
		state, ok := cases[name]
		if !ok {
			t.Errorf("%s has no case", name)
			continue
		}
		for series, want := range map[string]bool{state.ill: true, state.well: false} {
			storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.ReplaceAll(series, "\n", "\n  ")+"\n")
			q, err := engine.NewInstantQuery(t.Context(), storage, nil, expr, time.Unix(0, 0).Add(45*time.Minute))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			answer, err := q.Exec(t.Context()).Vector()
			if err != nil || (len(answer) > 0) != want {
				t.Errorf("%s over %s: %v, %v", name, series, answer, err)
			}
			q.Close()
		}
	}
	if len(all) != len(cases) {
		t.Errorf("%d alerts and %d cases", len(all), len(cases))
	}
}
