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
	// Want is what was asked for and Have what there is, in the terms of the code
	// (a requirement, a taint, an amount); either may be empty.
	Want, Have string
	// Removed of Total instance types were ruled out by this; zero when the
	// reason is not about instance types.
	Removed, Total int
	// Since is when the reason began to hold, zero if not known.
	Since time.Time
	// Until is when the reason ends by the passing of time alone, zero if that is
	// not known or not how it ends.
	Until time.Time
}

// ObjectRef names a Kubernetes object. Namespace is empty for cluster-scoped
// ones.
type ObjectRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is kubectl's "kind/name", with the namespace in front where there is
// one.
func (o ObjectRef) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Namespace + "/" + o.Kind + "/" + o.Name
}
