package controllers

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// What is due is due by the clock that wrote on the objects when they were created and deleted.
func TestTheTimeOfAllLoopsIsTheAPIServers(t *testing.T) {
	for _, skew := range []time.Duration{-10 * time.Minute, 0, 10 * time.Minute} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		}))
		defer server.Close()
		c, err := Config{REST: &rest.Config{Host: server.URL}, Provider: Provider{
			Classes: []snapshot.ClassRef{{Group: "g", Kind: "K"}},
			New:     func(manager.Manager, clock.Clock) (cloud.Provider, error) { return nil, nil },
		}}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		client, err := rest.HTTPClientFor(c.REST)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if off := time.Until(c.Clock.Now()) - skew; off.Abs() > 2*time.Second {
			t.Errorf("the API server's clock is %v ahead: off by %v", skew, off)
		}
	}
}
