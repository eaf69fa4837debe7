package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Notice is what people should know of a do-not-disrupt that is for a time or protects
// nothing, in Karpenter's words.
type Notice string

const (
	// Invalid: the value is neither true nor false nor, on a pod, a positive duration, and
	// protects nothing.
	Invalid Notice = "InvalidDoNotDisruptAnnotation"
	// Lasts: the pod is protected until a time.
	Lasts Notice = "DoNotDisruptUntil"
	// Elapsed: that time has just passed.
	Elapsed Notice = "DoNotDisruptGracePeriodElapsed"
)

// recently is for how long it is news that a protection has ended.
const recently = 10 * time.Minute

// NoticeOf is the notice about a pod that runs, empty if there is none, and the time that
// it is about.
func NoticeOf(p *corev1.Pod, now time.Time) (Notice, time.Time) {
	value, set := p.Annotations[DoNotDisruptAnnotation]
	if !set || value == "true" || value == "false" || Terminal(p) || Terminating(p) {
		return "", time.Time{}
	}
	until, protected := Protected(p, now)
	switch {
	case !Valid(value):
		return Invalid, time.Time{}
	case protected && !until.IsZero():
		return Lasts, until
	case !protected && now.Before(until.Add(recently)):
		return Elapsed, until
	}
	return "", time.Time{}
}

// Valid reports whether a do-not-disrupt of a pod has a value that means something: true, false
// or a positive duration.
func Valid(value string) bool {
	d, err := time.ParseDuration(value)
	return value == "true" || value == "false" || err == nil && d > 0
}

// Void is a value that protects nothing on a claim or its Node, by their annotations, where
// it cannot be for a time; ok is false if there is none, or the other one protects both.
func Void(claim, node map[string]string) (value string, ok bool) {
	for _, annotations := range []map[string]string{claim, node} {
		switch v, set := annotations[DoNotDisruptAnnotation]; {
		case v == "true":
			return "", false
		case set && v != "false":
			value, ok = v, true
		}
	}
	return value, ok
}
