package plan

import "time"

// Code is the kind of a reason: a closed set, listed in codes.go.
type Code string

// Reason is why something is not done. It is a plain value that compares and
// prints the same everywhere.
type Reason struct {
	Code Code
	// Objects are those involved, the one to look at first in front.
	Objects []ObjectRef
	// Field is where what was asked for is written: a path in the pod, or in the
	// pool for codes that are about the pool. Empty if it is nowhere.
	Field string
	// Want is what was asked for and Have what there is, in the terms of the code
	// (a requirement, a taint, an amount); either may be empty.
	Want, Have string
	// With are further constraints, without which this one would not stand in the
	// way: all of them together do, and none could be left out.
	With []Constraint
	// Nearest is the machine that fails by the least, nil if there is none.
	Nearest *Miss
	// Hint is what may have been meant: a label or a value that differs from Want
	// by a slip of the finger. Empty if there is none.
	Hint string
	// Removed of Total instance types were ruled out by this alone; zero when the
	// reason is not about instance types.
	Removed, Total int
	// Since is when the reason began to hold, zero if not known.
	Since time.Time
	// Until is when the reason ends by the passing of time alone, zero if that is
	// not known or not how it ends.
	Until time.Time
}

// Constraint is one of several that are in the way together, or one that a machine
// fails.
type Constraint struct {
	Code Code `json:"code"`
	// Object is whose the constraint is; empty for the pod's own.
	Object ObjectRef `json:"object,omitzero"`
	// Field is where it is written in the object, as a path; empty if nowhere.
	Field string `json:"field,omitempty"`
	// Want and Have are as in [Reason]; of a [Miss], Have is what that machine
	// offers, or what the field would have to say.
	Want string `json:"want,omitempty"`
	Have string `json:"have,omitempty"`
}

// Where constraints are written: in a pod, and in a NodePool.
const (
	FieldNodeSelector    = "spec.nodeSelector"
	FieldNodeAffinity    = "spec.affinity.nodeAffinity"
	FieldVolumes         = "spec.volumes"
	FieldRequests        = "spec.containers[].resources.requests"
	FieldPorts           = "spec.containers[].ports"
	FieldTolerations     = "spec.tolerations"
	FieldSpread          = "spec.topologySpreadConstraints"
	FieldPodAffinity     = "spec.affinity.podAffinity"
	FieldPodAntiAffinity = "spec.affinity.podAntiAffinity"

	FieldRequirements = "spec.template.spec.requirements"
	FieldLabels       = "spec.template.metadata.labels"
	FieldLimits       = "spec.limits"

	// FieldMinTypes and FieldDefaultSpread are settings of the caller, in no object.
	FieldMinTypes      = "--min-types"
	FieldDefaultSpread = "--scheduler-config"
)

// Miss is the machine that a pod fails to get by the least.
type Miss struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// Changes are what stands between the pod and the machine: with all of them
	// made, and nothing else, the pod fits it.
	Changes []Constraint `json:"changes"`
}
