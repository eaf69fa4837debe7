package loop

import "time"

// At fires at a time, at once if that has passed, never if it is zero. A caller that no
// longer waits for it calls stop.
func (d Deps) At(at time.Time) (fires <-chan time.Time, stop func()) {
	if at.IsZero() {
		return nil, func() {}
	}
	timer := d.Clock.NewTimer(at.Sub(d.Clock.Now()))
	return timer.C(), func() { timer.Stop() }
}
