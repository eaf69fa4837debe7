package kwok

import (
	"context"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// settings are the knobs as last read from their ConfigMap. Safe for concurrent
// use.
type settings struct {
	client client.Client
	live   client.Reader
	key    client.ObjectKey
	// recorder may be nil.
	recorder record.EventRecorder

	mu       sync.Mutex
	last     Knobs
	version  string
	reported string
}

// read looks at the ConfigMap and returns the knobs. When it cannot be read they
// stay as they were.
func (s *settings) read(ctx context.Context) Knobs {
	var cm corev1.ConfigMap
	err := s.client.Get(ctx, s.key, &cm)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err):
		s.last, s.version, s.reported = DefaultKnobs(), "", ""
	case err != nil:
		log.FromContext(ctx).Error(err, "reading the knobs of the simulated cloud", "configmap", s.key)
	case cm.ResourceVersion != s.version:
		s.version = cm.ResourceVersion
		s.last, err = ParseKnobs(cm.Data, s.last)
		s.report(ctx, &cm, err)
	}
	return s.last
}

// report tells of bad values, once for each new set of them.
func (s *settings) report(ctx context.Context, cm *corev1.ConfigMap, err error) {
	message := ""
	if err != nil {
		message = err.Error()
	}
	if message != "" && message != s.reported {
		log.FromContext(ctx).Error(err, "the simulated cloud keeps the last good value of some knobs", "configmap", s.key)
		if s.recorder != nil {
			s.recorder.Event(cm, corev1.EventTypeWarning, "InvalidKnob", message+"; the last good value stays")
		}
	}
	s.reported = message
}

// take counts a knob down by one, and reports whether there was one left. The
// count lives in the ConfigMap, so that it is seen by who set it and survives a
// restart.
func (s *settings) take(ctx context.Context, knob string) bool {
	taken := false
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		taken = false
		var cm corev1.ConfigMap
		if err := s.live.Get(ctx, s.key, &cm); err != nil {
			return client.IgnoreNotFound(err)
		}
		left, err := strconv.Atoi(cm.Data[knob])
		if err != nil || left <= 0 {
			return nil
		}
		taken = true
		cm.Data[knob] = strconv.Itoa(left - 1)
		return s.client.Update(ctx, &cm)
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "counting down a knob of the simulated cloud", "knob", knob)
	}
	return taken && err == nil
}
