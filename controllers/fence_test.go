package controllers

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// The lease is taken at 0 s and renewed at 10 s; then the process is frozen, and goes on when
// another one leads.
func TestWithoutTheLeaseNothingIsWrittenButEventsAndTheLease(t *testing.T) {
	refuse := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuse {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	start := time.Now()
	machine := clocktesting.NewFakePassiveClock(start)
	c := &rest.Config{Host: server.URL}
	fenced(c, machine)
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path string) bool {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	}
	const lease, claims = "/apis/coordination.k8s.io/v1/namespaces/x/leases/y", "/apis/karpenter.sh/v1/nodeclaims"
	for _, step := range []struct {
		at           time.Duration
		method, path string
		refuse, want bool
	}{
		{0, "POST", claims, false, false},
		{0, "GET", lease, false, true},
		{0, "POST", claims, false, false},
		{0, "PUT", lease, true, true},
		{0, "POST", claims, false, false},
		{0, "PUT", lease, false, true},
		{0, "POST", claims, false, true},
		{10 * time.Second, "PUT", lease, false, true},
		{24 * time.Second, "DELETE", claims + "/a", false, true},
		{25 * time.Second, "DELETE", claims + "/a", false, false},
		{25 * time.Second, "GET", claims, false, true},
		{25 * time.Second, "POST", "/api/v1/namespaces/default/pods/a/eviction", false, false},
		{25 * time.Second, "POST", "/api/v1/namespaces/default/events", false, true},
		{25 * time.Second, "PUT", lease, true, true},
		{25 * time.Second, "POST", claims, false, false},
	} {
		machine.SetTime(start.Add(step.at))
		refuse = step.refuse
		if got := send(step.method, step.path); got != step.want {
			t.Errorf("at %v, %s %s is sent: %t, want %t", step.at, step.method, step.path, got, step.want)
		}
	}
}
