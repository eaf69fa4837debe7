package cloudtest

import (
	"errors"
	"testing"

	"github.com/millwright-dev/millwright/cloud"
)

func attachments(t *testing.T, c Cloud) {
	lister, ok := cloud.As[cloud.AttachmentLister](c.Provider)
	if !ok {
		t.Skip("this provider cannot tell which volumes are attached")
	}
	id := launch(t, c.Provider, c.request(t, "claim")).ProviderID
	if list, err := lister.Attachments(t.Context(), id); err != nil || len(list) > 0 {
		t.Errorf("a new machine has %v attached that does not go with it, error %v", list, err)
	}
	if err := c.Provider.Terminate(t.Context(), id); err != nil {
		t.Fatalf("terminating: %v", err)
	}
	c.Advance(c.Settle)
	for _, gone := range []string{id, id + "-not"} {
		if _, err := lister.Attachments(t.Context(), gone); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("Attachments(%q) answered %v", gone, err)
		}
	}
}
