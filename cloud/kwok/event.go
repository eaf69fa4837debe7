package kwok

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/interruption"
)

var _ cloud.EventSource = (*Provider)(nil)

// interruptionsKnob holds what the simulated cloud announces.
const interruptionsKnob = "interruptions"

// Events are those of the knob.
func (p *Provider) Events(ctx context.Context) ([]cloud.Event, error) {
	return slices.Clone(p.settings.read(ctx).Interruptions), nil
}

// parseEvents reads a list of events in JSON.
func parseEvents(text string) ([]cloud.Event, error) {
	var out []cloud.Event
	unknown, err := kjson.UnmarshalStrict([]byte(text), &out)
	if err = errors.Join(append(unknown, err)...); err != nil {
		return nil, err
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		out[i].Source = KnobsName
	}
	return out, nil
}

// takes reports whether the cloud has taken a machine away by now, as announced.
func (k *Knobs) takes(claim string, now time.Time) bool {
	return slices.ContainsFunc(k.Interruptions, func(e cloud.Event) bool {
		names := e.Machine == claim || e.Machine == providerScheme+claim
		return names && takes(&e) && !e.Over() && !e.End().IsZero() && !now.Before(e.End())
	})
}

// takes reports whether a machine does not survive such an event.
func takes(e *cloud.Event) bool {
	switch e.Kind {
	case interruption.Spot, interruption.Reservation, interruption.Stopped, interruption.Terminated:
		return true
	}
	return e.Code == interruption.Stop || e.Code == interruption.Retirement
}
