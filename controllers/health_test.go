package controllers

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/denied"
)

func TestReadinessNamesWhatIsMissingAndLogsItOnce(t *testing.T) {
	var logged []string
	mapper := meta.NewDefaultRESTMapper(nil)
	synced := false
	var missing []denied.Right
	h := &health{
		mapper: mapper, synced: func() bool { return synced },
		rights: func() []denied.Right { return missing },
		log:    funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}),
	}
	ask := func(path string, want int, text string) {
		t.Helper()
		for range 3 {
			w := httptest.NewRecorder()
			h.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			if w.Code != want || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s answers %d %s, want %d %s", path, w.Code, w.Body, want, text)
			}
		}
	}
	ask("/readyz", http.StatusServiceUnavailable, "NodePool")
	for _, kind := range []string{"NodePool", "NodeClaim"} {
		mapper.Add(cluster.GroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
	ask("/readyz", http.StatusServiceUnavailable, "has not arrived")
	missing = []denied.Right{{Verb: "list", Resource: "nodes"}, {Verb: "watch", Resource: "csinodes", Group: "storage.k8s.io"}}
	ask("/readyz", http.StatusServiceUnavailable, "rights are missing: [list nodes watch csinodes.storage.k8s.io]")
	synced = true
	ask("/readyz", http.StatusOK, "ok")
	ask("/healthz", http.StatusOK, "ok")
	if len(logged) != 4 || !slices.ContainsFunc(logged, func(l string) bool { return strings.Contains(l, `"ready"`) }) {
		t.Errorf("logged %q", logged)
	}
}
