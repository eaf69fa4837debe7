package cloud

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Class is a node class as Kubernetes has it.
type Class interface {
	metav1.Object
	runtime.Object
}

// Ready is the condition Ready of a class; its Status is empty if there is none. Of the conditions
// that it is made of its message tells no more than that they are False: theirs are put in, and
// such as only follow from them are left out.
func Ready(conditions []status.Condition) status.Condition {
	i := slices.IndexFunc(conditions, func(c status.Condition) bool { return c.Type == status.ConditionReady })
	if i < 0 {
		return status.Condition{}
	}
	ready := conditions[i]
	var parts []string
	for _, part := range strings.Split(ready.Message, ", ") {
		at := slices.IndexFunc(conditions, func(c status.Condition) bool { return c.Type != status.ConditionReady && c.Type+"=False" == part })
		switch {
		case at < 0 || conditions[at].Message == "":
			parts = append(parts, part)
		case conditions[at].Reason != snapshot.DependenciesNotReady:
			parts = append(parts, part+" ("+conditions[at].Message+")")
		}
	}
	if len(parts) > 0 {
		ready.Message = strings.Join(parts, ", ")
	}
	return ready
}

// ClassKind is what is the same for all node classes of a provider.
type ClassKind struct {
	// New makes an empty one, to read into.
	New func() Class
	// Finalizer is on every class, so that Release comes before its end.
	Finalizer string
	// HashKey and VersionKey are annotations of classes and of the claims that were launched
	// from them: a hash of the spec, and in which way it was computed, which is Version.
	HashKey, VersionKey, Version string
}

// ClassKeeper is a provider whose node classes have a status that it works out. It is found
// by assertion. Every class is served by one call at a time.
type ClassKeeper interface {
	ClassKind() ClassKind

	// Hash is that of a class's spec.
	Hash(class Class) string

	// Resolve works out the status of a class, in place, and says when to look again. With
	// an error it has done what it could; the class is looked at again soon.
	Resolve(ctx context.Context, class Class) (again time.Duration, err error)

	// Release deletes what was made for a class that no machine is launched from any more.
	Release(ctx context.Context, class Class) error
}
