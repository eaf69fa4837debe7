// Package finding is what checks answer with: what is wrong, and what mends it where it was made.
package finding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/plan"
)

// Severity is how much a finding matters.
type Severity string

const (
	// Error: something will break, or wait for ever.
	Error Severity = "error"
	// Warning: something will be slower, more expensive or less safe than it looks.
	Warning Severity = "warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	// Check is the stable name of the check, such as agent-leaves-early.
	Check    string
	Severity Severity
	// Object is what to change, and Field the path of the field in it.
	Object plan.ObjectRef
	Field  string
	// Message says what is wrong and what will happen, as a sentence without its end.
	Message string
	// Advice says what to do.
	Advice string
	// Patch does it, nil where more than this object has to change.
	Patch *Patch
	// Pools are the NodePools whose nodes it is about, besides Object.
	Pools []string
	// Origin is what the object was generated from, such as "chart cilium"; empty if it was
	// written, or nothing is known of it.
	Origin string
	// Fix does it there, in place of the patch; nil if the object was written.
	Fix *Fix
}

// Fix mends a finding where its object is made: it is ready to paste in the form that people
// keep that in.
type Fix struct {
	// Form is what it changes, such as "Helm values" or "EKS add-on configuration".
	Form string `json:"form"`
	// Do says what to do with the text, in a line: a command, or the place where it belongs.
	Do string `json:"do"`
	// Text is what to paste; it may have several lines.
	Text string `json:"text"`
	// File is what the text is called as a file, such as aws-ebs-csi-driver.values.yaml.
	File string `json:"file"`
}

// RefOf is what an object of a kind is called.
func RefOf(kind string, o metav1.Object) plan.ObjectRef {
	return plan.ObjectRef{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}
