package controllers

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/controllers/disruption"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics/state"
	"github.com/millwright-dev/millwright/controllers/provision"
)

// ObserverName is the name of the lease of processes that only observe, and the
// source of their events.
const ObserverName = "millwright-observer"

// observers are the loops of a process that only observes: they decide and tell.
func observers() []func(manager.Manager, loop.Deps) error {
	return []func(manager.Manager, loop.Deps) error{provision.Add, disruption.Add, state.Add}
}

// readOnly makes every client of a configuration refuse to write anything but events
// and leases, whichever component asks for it.
func readOnly(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return reader{next} })
}

type reader struct{ next http.RoundTripper }

func (r reader) RoundTrip(req *http.Request) (*http.Response, error) {
	if mayPass(req.Method, req.URL.Path) {
		return r.next.RoundTrip(req)
	}
	return nil, fmt.Errorf("only observing: %s %s is not sent", req.Method, req.URL.Path)
}

// mayPass reports whether a request reads, asks whose a token is and what its holder may do, or
// writes an event or a lease.
func mayPass(method, path string) bool {
	if method == http.MethodGet || method == http.MethodHead {
		return true
	}
	part := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case strings.HasPrefix(path, "/api/v1/namespaces/"):
		return len(part) > 4 && part[4] == "events"
	case strings.HasPrefix(path, "/apis/events.k8s.io/"):
		return len(part) > 5 && part[5] == "events"
	case strings.HasPrefix(path, "/apis/coordination.k8s.io/"):
		return len(part) > 5 && part[5] == "leases"
	case path == "/apis/authentication.k8s.io/v1/tokenreviews", path == "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		return method == http.MethodPost
	}
	return false
}
