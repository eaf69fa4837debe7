package provider

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// versionEvery is how often the control plane is asked for its version, as in Karpenter.
const versionEvery = 5 * time.Minute

// version is the control plane's as it was told last. Any reader may read it; one loop asks.
type version struct {
	text  atomic.Value // a string
	asked time.Time
}

func (v *version) read() string { return v.text.Load().(string) }

// readVersion asks for the version of the control plane, from which the images of an alias follow.
func (p *Provider) readVersion(ctx context.Context) error {
	now := p.Clock.Now()
	if p.Version == nil || now.Sub(p.version.asked) < versionEvery {
		return nil
	}
	p.version.asked = now
	text, err := p.Version(ctx)
	if err != nil {
		return fmt.Errorf("asking for the version of the control plane: %w", err)
	}
	if p.version.text.Swap(text) != text {
		log.FromContext(ctx).Info("the control plane has another version", "version", text)
	}
	return nil
}
