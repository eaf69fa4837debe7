// Package protection examines what is to keep pods from being disrupted and does not, for package
// doctor.
package protection

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
)

// safeToEvict is by what cluster-autoscaler keeps a pod's node, if its value is "false".
const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

// Pods are those of a workload.
type Pods struct {
	Of plan.ObjectRef
	// Own are the annotations of the workload, Annotations those of the template at At.
	Own, Annotations map[string]string
	At               []string
	// Fixed says that the API server refuses changes of the template.
	Fixed bool
}

// Void are the annotations that are to protect pods and are read by nothing.
func Void(all []Pods) []finding.Finding {
	var out []finding.Finding
	for _, p := range all {
		value, set := p.Annotations[eviction.DoNotDisruptAnnotation]
		own, onOwner := p.Own[eviction.DoNotDisruptAnnotation]
		switch {
		case set && !eviction.Valid(value):
			out = append(out, p.finding(p.At, eviction.DoNotDisruptAnnotation, fmt.Sprintf("is %q, neither \"true\" nor a positive duration: its pods are evicted as any other", value)))
		case set: // what is known says what is wanted
		case onOwner && own != "false":
			out = append(out, p.finding(nil, eviction.DoNotDisruptAnnotation, "is read of pods, Nodes and NodeClaims, and its pods do not have it: they are evicted as any other"))
		case p.Annotations[safeToEvict] == "false":
			out = append(out, p.finding(p.At, safeToEvict, "is read by cluster-autoscaler alone: on the nodes of NodePools its pods are evicted as any other"))
		}
	}
	return out
}

// finding is about an annotation of the object at a path.
func (p Pods) finding(at []string, key, message string) finding.Finding {
	f := finding.Finding{
		Severity: finding.Warning, Object: p.Of, Message: message,
		Field:  strings.Join(append(at[:len(at):len(at)], "metadata", "annotations"), ".") + "[" + key + "]",
		Advice: "give the pods karpenter.sh/do-not-disrupt, if nothing but they may end them, or take the annotation off",
	}
	if p.Fixed {
		return f
	}
	path := append(p.At[:len(p.At):len(p.At)], "metadata", "annotations")
	step := finding.Op("add", finding.Pointer(append(path, eviction.DoNotDisruptAnnotation)...), "true")
	if p.Annotations == nil {
		step = finding.Op("add", finding.Pointer(path...), map[string]string{eviction.DoNotDisruptAnnotation: "true"})
	}
	f.Patch = &finding.Patch{Object: p.Of, Steps: []finding.Step{step}}
	return f
}
