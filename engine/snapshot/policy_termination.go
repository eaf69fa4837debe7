package snapshot

import (
	"cmp"
	"time"
)

// Defaults of a [Termination].
const (
	DefaultUnmountTimeout = time.Minute
	DefaultDetachTimeout  = 90 * time.Second
	DefaultReleaseTimeout = 2 * time.Minute
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
}

// Defaulted has every time set.
func (t Termination) Defaulted() Termination {
	t.UnmountTimeout = cmp.Or(t.UnmountTimeout, DefaultUnmountTimeout)
	t.DetachTimeout = cmp.Or(t.DetachTimeout, DefaultDetachTimeout)
	t.ReleaseTimeout = cmp.Or(t.ReleaseTimeout, DefaultReleaseTimeout)
	return t
}
