package snapshot

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Defaults of an [Initialization]. Those of launch and registration are
// Karpenter's, which has no others.
const (
	DefaultLaunchTimeout         = 5 * time.Minute
	DefaultRegistrationTimeout   = 15 * time.Minute
	DefaultInitializationTimeout = 15 * time.Minute
	DefaultStaleGrace            = 5 * time.Minute
	DefaultBackoffFailures       = 3
	DefaultBackoffInitial        = 2 * time.Minute
	DefaultBackoffMax            = time.Hour
)

// Never is a timeout that does not end.
const Never time.Duration = -1

// Initialization says when a new machine is ready for work and what happens if it
// never is. The zero value of a field is its default.
type Initialization struct {
	// LaunchTimeout and RegistrationTimeout count from the claim's creation, Timeout
	// from its registration.
	LaunchTimeout, RegistrationTimeout, Timeout time.Duration
	// OnTimeout is what happens then.
	OnTimeout Consequence
	// StaleGrace is how long the cloud controller's taint may stay after
	// registration although its work is done; OnStale is what happens then.
	StaleGrace time.Duration
	OnStale    StaleAction
	// DaemonSets must be Ready on the node if they are meant to run there.
	DaemonSets []DaemonSetSelector
	// Conditions must hold on the node, besides Ready.
	Conditions []NodeCondition
	// CSIDrivers must be registered on the node, whether or not a pod needs them.
	CSIDrivers []string
	// IgnoreTaints leaves undeclared startup taints alone.
	IgnoreTaints bool
	// Taint keeps pods off a new node until it is initialized.
	Taint bool
	// PlannedFirst has a new node take only the pods that it was launched for until they
	// are bound.
	PlannedFirst bool
	// Backoff bounds how often the pool launches what has failed before.
	Backoff Backoff
}

// Consequence is what happens to a machine that is not initialized in time.
type Consequence string

// The consequences; empty is Alert.
const (
	Alert   Consequence = "Alert"
	Retain  Consequence = "Retain"
	Replace Consequence = "Replace"
)

// StaleAction is what is done about a taint that the cloud controller left.
type StaleAction string

// The actions; empty is StaleRemove.
const (
	StaleReport  StaleAction = "Report"
	StaleRemove  StaleAction = "Remove"
	StaleReplace StaleAction = "Replace"
)

// NodeCondition is a condition that a node must have.
type NodeCondition struct {
	Type   corev1.NodeConditionType
	Status corev1.ConditionStatus
}

// DaemonSetSelector selects DaemonSets: one by name, or those of a namespace (all
// of them if it is empty) whose labels match.
type DaemonSetSelector struct {
	Namespace, Name string
	Labels          labels.Selector
}

// Selects reports whether a DaemonSet is meant.
func (d DaemonSetSelector) Selects(set *DaemonSet) bool {
	switch {
	case d.Namespace != "" && d.Namespace != set.Namespace:
		return false
	case d.Name != "":
		return d.Name == set.Name
	}
	return d.Labels != nil && d.Labels.Matches(labels.Set(set.Labels))
}

// Backoff bounds how often a pool launches what has failed before.
type Backoff struct {
	// Failures in a row begin a pause of Initial; each further one doubles it, up to
	// Max.
	Failures     int
	Initial, Max time.Duration
}

// Defaulted has every field set.
func (i Initialization) Defaulted() Initialization {
	i.LaunchTimeout = cmp.Or(i.LaunchTimeout, DefaultLaunchTimeout)
	i.RegistrationTimeout = cmp.Or(i.RegistrationTimeout, DefaultRegistrationTimeout)
	i.Timeout = cmp.Or(i.Timeout, DefaultInitializationTimeout)
	i.OnTimeout = cmp.Or(i.OnTimeout, Alert)
	i.StaleGrace = cmp.Or(i.StaleGrace, DefaultStaleGrace)
	i.OnStale = cmp.Or(i.OnStale, StaleRemove)
	i.Backoff.Failures = cmp.Or(i.Backoff.Failures, DefaultBackoffFailures)
	i.Backoff.Initial = cmp.Or(i.Backoff.Initial, DefaultBackoffInitial)
	i.Backoff.Max = max(cmp.Or(i.Backoff.Max, DefaultBackoffMax), i.Backoff.Initial)
	return i
}
