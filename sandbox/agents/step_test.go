package agents

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestTheAgentsTaintComesAndGoesAndIsPutBackOnce(t *testing.T) {
	cni := corev1.Taint{Key: "cni", Effect: corev1.TaintEffectNoSchedule}
	orders := orders{cloudDelay: 3 * time.Second, taint: cni, adds: true, delay: 2 * time.Second, again: time.Second, againsFor: 2 * time.Second}
	born := time.Unix(1000, 0)
	s := &state{born: born}
	taints := []corev1.Taint{uninitialized}
	var story []string
	for range 10 {
		var keys []string
		var wake time.Time
		taints, wake = s.step(taints, orders, born)
		for _, x := range taints {
			keys = append(keys, x.Key[:3])
		}
		story = append(story, born.Sub(s.born).String()+" "+strings.Join(keys, ","))
		if wake.IsZero() {
			break
		}
		born = wake
	}
	if got, want := strings.Join(story, "; "), "0s nod,cni; 2s nod; 3s cni; 5s "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	orders.hangs, orders.cloudHangs = true, true
	s = &state{born: born}
	if taints, wake := s.step([]corev1.Taint{uninitialized, cni}, orders, born.Add(time.Hour)); len(taints) != 2 || !wake.IsZero() {
		t.Errorf("those who hang left %v and come back at %v", taints, wake)
	}
}
