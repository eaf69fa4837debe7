package snapshot

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Defaults of a [Termination].
const (
	DefaultUnmountTimeout = time.Minute
	DefaultDetachTimeout  = 90 * time.Second
	DefaultReleaseTimeout = 2 * time.Minute
	DefaultHookTimeout    = 10 * time.Minute
)

// Termination says how machines are taken away. The zero value of a field is its
// default.
type Termination struct {
	// Agents are DaemonSets whose pods stay until the machine goes.
	Agents []DaemonSetSelector
	// MaxParallelEvictions is how many pods of a node may be ending at once; zero is
	// no limit.
	MaxParallelEvictions int
	// UnmountTimeout counts from the end of the last pod that had to leave,
	// DetachTimeout from the deletion of the attachment; afterwards a volume is stuck.
	UnmountTimeout, DetachTimeout time.Duration
	// TerminateStuck lets a machine go on which only stuck volumes are left.
	TerminateStuck bool
	// NoOutOfService leaves the out-of-service taint away from the Nodes of machines
	// that are gone; ReleaseTimeout is how long such a Node is kept for its sake.
	NoOutOfService bool
	ReleaseTimeout time.Duration
	// DeleteOrphans deletes attachments to nodes that are gone.
	DeleteOrphans bool
	// Hooks are what a machine waits for on its way out.
	Hooks []Hook
}

// Labels of a Job that a hook waits for: the Node's name and the hook's.
const (
	HookNodeLabel = "millwright.dev/node"
	HookNameLabel = "millwright.dev/hook"
)

// HookPoint is what waits for a hook.
type HookPoint string

// What waits for hooks.
const (
	BeforeDrain       HookPoint = "Drain"
	BeforeTermination HookPoint = "Termination"
)

// Hook is something that a machine waits for on its way out: of Annotation,
// Condition, JobNamespace and Elapsed exactly one is set.
type Hook struct {
	Name   string
	Before HookPoint
	// Annotation is the key of one of the Node's; Value is what it must be, empty for
	// anything.
	Annotation, Value string
	// Condition is the type of one of the Node's; Status is what it must be.
	Condition corev1.NodeConditionType
	Status    corev1.ConditionStatus
	// JobNamespace is that of a Job with the labels of the hook and the Node.
	JobNamespace string
	// Elapsed is a time since the machine began to go.
	Elapsed time.Duration
	// Timeout is how long it is waited for; FailClosed waits on after that.
	Timeout    time.Duration
	FailClosed bool
}

// Defaulted has every time set.
func (t Termination) Defaulted() Termination {
	t.UnmountTimeout = cmp.Or(t.UnmountTimeout, DefaultUnmountTimeout)
	t.DetachTimeout = cmp.Or(t.DetachTimeout, DefaultDetachTimeout)
	t.ReleaseTimeout = cmp.Or(t.ReleaseTimeout, DefaultReleaseTimeout)
	return t
}
