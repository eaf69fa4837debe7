package controllers

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/denied"
)

// health answers /healthz while the process lives, and /readyz once it can work.
// What is missing is in the answer; the log has it once, not per question.
type health struct {
	mapper meta.RESTMapper
	synced func() bool
	rights func() []denied.Right // that are missing
	log    logr.Logger

	mu   sync.Mutex
	last string
}

// addHealth serves health at an address; "0" serves nothing.
func addHealth(mgr manager.Manager, store *cluster.Store, rights *denied.Watch, address string) error {
	if address == "0" {
		return nil
	}
	h := &health{mapper: mgr.GetRESTMapper(), synced: store.Synced, rights: rights.Missing, log: mgr.GetLogger().WithName("health")}
	timeout := time.Second
	server := &manager.Server{
		Name:            "health",
		Server:          &http.Server{Addr: address, Handler: h.handler(), ReadHeaderTimeout: 10 * time.Second},
		ShutdownTimeout: &timeout,
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the health server: %w", err)
	}
	return nil
}

func (h *health) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := h.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// ready reports what is missing: the API server must know Karpenter's kinds, and
// the state of the cluster must have arrived.
func (h *health) ready() (err error) {
	defer func() { h.note(err) }()
	for _, kind := range []string{"NodePool", "NodeClaim"} {
		if _, err := h.mapper.RESTMapping(cluster.GroupVersion.WithKind(kind).GroupKind(), cluster.GroupVersion.Version); err != nil {
			return fmt.Errorf("looking up kind %s: %w", kind, err)
		}
	}
	if h.synced() {
		return nil
	}
	if missing := h.rights(); len(missing) > 0 {
		return fmt.Errorf("the cluster's state has not arrived yet: rights are missing: %v", missing)
	}
	return errors.New("the cluster's state has not arrived yet")
}

func (h *health) note(err error) {
	now := "ready"
	if err != nil {
		now = "not ready: " + err.Error()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now != h.last {
		h.log.Info(now)
	}
	h.last = now
}
