package eviction_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
)

func TestAProtectionForATimeIsTold(t *testing.T) {
	now := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	started := metav1.NewTime(now.Add(-time.Hour))
	for value, want := range map[string]eviction.Notice{
		"": eviction.Invalid, "true": "", "false": "", "2h": eviction.Lasts, "55m": eviction.Elapsed, "30m": "",
		"yes": eviction.Invalid, "-5m": eviction.Invalid, "0s": eviction.Invalid, "1d": eviction.Invalid,
		"TRUE": eviction.Invalid, "99999999h": eviction.Invalid,
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{eviction.DoNotDisruptAnnotation: value}}}
		p.Status.StartTime = &started
		got, until := eviction.NoticeOf(p, now)
		if got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
		if d, err := time.ParseDuration(value); got != eviction.Invalid && got != "" && (err != nil || !until.Equal(started.Add(d))) {
			t.Errorf("%q: until %v", value, until)
		}
		p.Status.StartTime = nil
		if got, _ := eviction.NoticeOf(p, now); got != "" && got != eviction.Invalid {
			t.Errorf("%q: %q of a pod that has not started", value, got)
		}
		p.Status.Phase = corev1.PodSucceeded
		if got, _ := eviction.NoticeOf(p, now); got != "" {
			t.Errorf("%q: %q of a pod that has ended", value, got)
		}
	}
}
