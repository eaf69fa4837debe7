package cloud

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Class is a node class as Kubernetes has it.
type Class interface {
	metav1.Object
	runtime.Object
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
