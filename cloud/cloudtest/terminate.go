package cloudtest

import (
	"errors"
	"testing"

	"github.com/millwright-dev/millwright/cloud"
)

func unknownMachine(t *testing.T, c Cloud) {
	other := launch(t, c.Provider, c.request(t, "claim"))
	for _, id := range []string{"", "nonsense", other.ProviderID + "-not"} {
		if _, err := c.Provider.Get(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("Get(%q) answered %v", id, err)
		}
		if err := c.Provider.Terminate(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("Terminate(%q) answered %v", id, err)
		}
	}
}

func terminates(t *testing.T, c Cloud) {
	id := launch(t, c.Provider, c.request(t, "claim")).ProviderID
	for range 2 {
		if err := c.Provider.Terminate(t.Context(), id); err != nil {
			t.Fatalf("terminating: %v", err)
		}
	}
	restarted := c.Restart()
	got, err := restarted.Get(t.Context(), id)
	if err != nil || got.State != cloud.ShuttingDown {
		t.Errorf("a terminating machine is %q, error %v", got.State, err)
	}
	wantIDs(t, restarted, id)
	c.Advance(c.Settle)
	if _, err := restarted.Get(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Get of a machine that is gone answered %v", err)
	}
	if err := restarted.Terminate(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Terminate of a machine that is gone answered %v", err)
	}
	wantIDs(t, restarted)
}

func terminatesOne(t *testing.T, c Cloud) {
	a, b := launch(t, c.Provider, c.request(t, "claim-a")), launch(t, c.Provider, c.request(t, "claim-b"))
	if err := c.Provider.Terminate(t.Context(), a.ProviderID); err != nil {
		t.Fatalf("terminating: %v", err)
	}
	c.Advance(c.Settle)
	wantIDs(t, c.Provider, b.ProviderID)
	if got, err := c.Provider.Get(t.Context(), b.ProviderID); err != nil || got.State == cloud.ShuttingDown {
		t.Errorf("the other machine is %q, error %v", got.State, err)
	}
}
