package decode

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Informers makes informers to which an object that cannot be read costs only itself. It is
// safe for concurrent use.
type Informers struct {
	// REST is the API server, Scheme has the kinds.
	REST   *rest.Config
	Scheme *runtime.Scheme
	// Report is told once of every state of an object of which a part cannot be read, or
	// nothing at all: then err says why.
	Report func(obj client.Object, err error)

	mu       sync.Mutex
	client   client.Client
	reported map[types.UID]string // the resource version
}

// New is cache.Options.NewInformer.
func (r *Informers) New(lw toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	_, typed := of.(client.Object)
	gvk, err := apiutil.GVKForObject(of, r.Scheme)
	if _, bare := of.(runtime.Unstructured); !typed || bare || err != nil || builtIn(gvk.Group) {
		return toolscache.NewSharedIndexInformer(lw, of, resync, indexers)
	}
	lister, watcher := toolscache.ToListerWithContext(lw), toolscache.ToWatcherWithContext(lw)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			out, err := lister.ListWithContext(ctx, options)
			if !undecoded(ctx, err) {
				return out, err
			}
			if lenient, again := r.list(ctx, gvk, options); again == nil {
				return lenient, nil
			}
			return out, err
		},
		// A watch that brings what cannot be read ends, and the list comes next.
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return watcher.WatchWithContext(ctx, options)
		},
	}, of, resync, indexers)
}

// builtIn reports whether a group is Kubernetes' own: the API server reads its kinds with the
// types that we read them with.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// list reads all objects of a kind one by one.
func (r *Informers) list(ctx context.Context, gvk schema.GroupVersionKind, options metav1.ListOptions) (runtime.Object, error) {
	c, err := r.connect()
	if err != nil {
		return nil, err
	}
	gvk.Kind += "List"
	out, err := r.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return out, list(ctx, c, gvk, out, r.report, &client.ListOptions{Raw: &options})
}

// connect makes the client with the first object that cannot be read.
func (r *Informers) connect() (client.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	var err error
	if r.client, err = client.New(r.REST, client.Options{Scheme: r.Scheme}); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return r.client, nil
}

func (r *Informers) report(obj client.Object, err error) {
	r.mu.Lock()
	if r.reported == nil {
		r.reported = map[types.UID]string{}
	}
	known := r.reported[obj.GetUID()] == obj.GetResourceVersion()
	r.reported[obj.GetUID()] = obj.GetResourceVersion()
	r.mu.Unlock()
	if !known {
		r.Report(obj, err)
	}
}
