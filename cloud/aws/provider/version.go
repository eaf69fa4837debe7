package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// versionEvery is how often the control plane is asked for its version, as in Karpenter.
const versionEvery = 5 * time.Minute

// version is the control plane's as it was told last. It is safe for concurrent use.
type version struct {
	mu    sync.Mutex
	text  string
	asked time.Time
}

func (v *version) read() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.text
}

// due reports whether it is time to ask again, and counts that it was done.
func (v *version) due(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.asked) < versionEvery {
		return false
	}
	v.asked = now
	return true
}

// told reports whether the version is another than before.
func (v *version) told(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	changed := v.text != text
	v.text = text
	return changed
}

// readVersion asks for the version of the control plane, from which the images of an alias follow.
func (p *Provider) readVersion(ctx context.Context) error {
	if p.Version == nil || !p.version.due(p.Clock.Now()) {
		return nil
	}
	text, err := p.Version(ctx)
	if err != nil {
		return fmt.Errorf("asking for the version of the control plane: %w", err)
	}
	if p.version.told(text) {
		log.FromContext(ctx).Info("the control plane has another version", "version", text)
	}
	return nil
}
