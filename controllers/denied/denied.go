// Package denied tells which rights a process lacks. It sees the answers to all requests to
// the API server, whichever client makes them, and names the verb and the resource of those
// that RBAC refused: a reflector that may not list says so as a write does that is refused.
//
//	requests ──► Watch.Wrap ──► API server
//	                 └────────► report, Missing, and a series of the metrics
package denied

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"
)

// Right is a verb on a resource, with its subresource if any, such as pods/eviction, in an
// API group, whose name is empty for the core's.
type Right struct{ Verb, Resource, Group string }

// String is "verb resource.group".
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	return r.Verb + " " + r.Resource + "." + r.Group
}

// again is for how long a right that was reported is not reported again, and for how long one
// that is not refused any more counts as missing.
const again = 10 * time.Minute

// most is how much of an answer is looked at; a Status is shorter.
const most = 64 << 10

// Watch is what has been refused. It is safe for concurrent use.
type Watch struct {
	clock  clock.PassiveClock
	report func(right Right, namespace string)
	info   request.RequestInfoFactory

	mu   sync.Mutex
	last map[Right]seen
}

type seen struct{ reported, refused time.Time }

// New makes a Watch that reports each right that is missing, with the namespace in which it
// was needed, empty for the cluster; once, and again every ten minutes while it is refused.
func New(c clock.PassiveClock, report func(right Right, namespace string)) *Watch {
	return &Watch{
		clock: c, report: report, last: map[Right]seen{},
		info: request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
}

// Missing are the rights that were refused within the last ten minutes, in order.
func (w *Watch) Missing() []Right {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Right
	for right, s := range w.last {
		if w.clock.Since(s.refused) < again {
			out = append(out, right)
		}
	}
	slices.SortFunc(out, func(a, b Right) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

var missing = prometheus.NewDesc("millwright_rights_missing", "A right that the API server has refused within ten minutes: always 1.", []string{"verb", "resource", "group"}, nil)

// Describe is prometheus.Collector's.
func (w *Watch) Describe(out chan<- *prometheus.Desc) { out <- missing }

// Collect is prometheus.Collector's.
func (w *Watch) Collect(out chan<- prometheus.Metric) {
	for _, r := range w.Missing() {
		out <- prometheus.MustNewConstMetric(missing, prometheus.GaugeValue, 1, r.Verb, r.Resource, r.Group)
	}
}

// Wrap is a transport whose refusals are noted; for rest.Config.Wrap.
func (w *Watch) Wrap(next http.RoundTripper) http.RoundTripper { return transport{w, next} }

type transport struct {
	*Watch
	next http.RoundTripper
}

// RoundTrip is http.RoundTripper's.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusForbidden {
		t.refused(req, resp)
	}
	return resp, err
}

// refused notes the right that a request lacks, if that is why it was refused: admission
// plugins, quotas and namespaces that end answer with the same status. The text is in the
// Status, however that is encoded.
func (t transport) refused(req *http.Request, resp *http.Response) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	info, unknown := t.info.NewRequestInfo(req)
	if err != nil || unknown != nil || !info.IsResourceRequest || !bytes.Contains(text, []byte(" cannot "+info.Verb+" resource ")) {
		return
	}
	resource := strings.TrimSuffix(info.Resource+"/"+info.Subresource, "/")
	t.note(Right{info.Verb, resource, info.APIGroup}, info.Namespace)
}

func (w *Watch) note(right Right, namespace string) {
	now := w.clock.Now()
	w.mu.Lock()
	s, known := w.last[right]
	due := !known || now.Sub(s.reported) >= again
	if s.refused = now; due {
		s.reported = now
	}
	w.last[right] = s
	w.mu.Unlock()
	if due {
		w.report(right, namespace)
	}
}
