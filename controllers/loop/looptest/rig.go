// Package looptest runs single steps of control loops against a fake API server,
// a fake clock and a store of their own, and can cut the process off at any
// write.
//
//	r := looptest.New(t, objects...)
//	loop := provision.New(r.Deps, provision.Config{})
//	err := loop.Pass(ctx)
//	r.Events // what was published
//
// A change that a test makes through r.Client reaches the store with r.Sync, as
// a watch would deliver it.
package looptest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Noon is when a rig's clock starts: a Wednesday.
var Noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// Class is the node class that a rig's provider serves.
var Class = snapshot.ClassRef{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}

// Rig is a process with an API server.
type Rig struct {
	loop.Deps
	t      testing.TB
	Client client.WithWatch
	Clock  *clocktesting.FakeClock
	API    *API
	Events *Events
	// Cloud is the provider.
	Cloud *Cloud
	// Offered is what the provider offers for every class.
	Offered []*catalog.Type

	// known are the objects of the last Sync, by kind and name.
	known map[string]client.Object
}

// New makes a rig in which the objects exist.
func New(t testing.TB, objects ...client.Object) *Rig {
	t.Helper()
	kinds := kinds()
	b := fake.NewClientBuilder().WithScheme(kinds).WithObjectTracker(clienttesting.NewObjectTracker(kinds, serializer.NewCodecFactory(kinds).UniversalDecoder())).WithObjects(objects...).
		WithStatusSubresource(&karpv1.NodePool{}, &v1alpha1.NodePolicy{}, &overlayv1alpha1.NodeOverlay{}, &bufferv1beta1.CapacityBuffer{}, &v1alpha1.DisruptionRequest{}, &karpv1.NodeClaim{}, &corev1.Node{}, &corev1.Pod{})
	for _, i := range loop.Indexes() {
		b = b.WithIndex(i.Object, i.Field, i.Extract)
	}
	r := &Rig{t: t, Client: b.Build(), Clock: clocktesting.NewFakeClock(Noon), Events: &Events{}}
	r.Cloud = &Cloud{rig: r}
	r.Restart()
	return r
}

// kinds are those in use, for all rigs.
var kinds = sync.OnceValue(func() *runtime.Scheme {
	out := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme, cluster.AddToScheme,
	} {
		utilruntime.Must(add(out))
	}
	return out
})

// Restart forgets everything that a process keeps in memory.
func (r *Rig) Restart() {
	r.t.Helper()
	store := cluster.NewStore()
	r.API = &API{API: apply.ForClient(r.Client)}
	r.Deps = loop.Deps{
		Client: r.Client, Live: r.Client, Store: store, Clock: r.Clock, Provider: r.Cloud,
		Writer: apply.New(apply.Config{API: r.API, Store: store, Recorder: r.Events, Clock: r.Clock}),
		Types:  func(snapshot.ClassRef) ([]*catalog.Type, error) { return r.Offered, nil },
		Settings: loop.Settings{
			BatchIdle: time.Second, BatchMax: 10 * time.Second,
			ManagedClasses: []snapshot.ClassRef{{Group: Class.Group, Kind: Class.Kind}},
		},
	}
	r.known = nil
	r.Sync()
	store.MarkSynced()
}

// Sync tells the store what the API server has, and what it no longer has.
func (r *Rig) Sync() {
	r.t.Helper()
	seen := map[string]client.Object{}
	for _, list := range []client.ObjectList{
		&karpv1.NodePoolList{}, &v1alpha1.NodePolicyList{}, &overlayv1alpha1.NodeOverlayList{}, &bufferv1beta1.CapacityBufferList{}, &corev1.PodTemplateList{}, &v1alpha1.DisruptionRequestList{}, &karpv1.NodeClaimList{}, &corev1.NodeList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{},
		&storagev1.VolumeAttachmentList{}, &storagev1.CSIDriverList{}, &storagev1.CSINodeList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{},
	} {
		if err := r.Client.List(context.Background(), list); err != nil {
			r.t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			obj := o.(client.Object)
			seen[fmt.Sprintf("%T %s/%s %s", obj, obj.GetNamespace(), obj.GetName(), obj.GetUID())] = obj
			r.Store.Update(obj)
			return nil
		}); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, obj := range r.known {
		if seen[name] == nil {
			r.Store.Delete(obj)
		}
	}
	r.known = seen
}

// Logged is a context whose log is appended to lines. It is safe for concurrent use.
func Logged(lines *[]string) context.Context {
	var mu sync.Mutex
	return log.IntoContext(context.Background(), funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		*lines = append(*lines, args)
	}, funcr.Options{}))
}

// Must fails the test on an error.
func (r *Rig) Must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// Delete deletes an object behind the process's back and tells the store.
func (r *Rig) Delete(o client.Object) {
	r.t.Helper()
	r.Must(r.Client.Delete(context.Background(), o))
	r.Store.Delete(o)
}

// Claims are all claims, by name.
func (r *Rig) Claims() []karpv1.NodeClaim {
	r.t.Helper()
	var list karpv1.NodeClaimList
	r.Must(r.Client.List(context.Background(), &list))
	return list.Items
}

// Get reads an object again; false if it is gone.
func (r *Rig) Get(o client.Object) bool {
	r.t.Helper()
	err := r.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return false
	}
	r.Must(err)
	return true
}

// ErrCut is what every write answers once the process has been cut off.
var ErrCut = errors.New("the process is gone")

// API passes writes on until it is told to cut.
type API struct {
	apply.API
	mu sync.Mutex
	// Writes counts those that were asked for.
	Writes int
	// CutAt makes every write from that one on fail, the first being 1; zero never
	// does. With Late the write at CutAt still happens, and only its answer is
	// lost.
	CutAt int
	Late  bool
	// Before, if set, runs ahead of every write; an error is the answer.
	Before func(verb string, o client.Object) error
}

// Cut reports whether the process has been cut off, also where that was taken for a failure of the
// cloud.
func (a *API) Cut() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.CutAt != 0 && a.Writes >= a.CutAt
}

func (a *API) write(verb string, o client.Object, do func() error) error {
	a.mu.Lock()
	a.Writes++
	n := a.Writes
	a.mu.Unlock()
	if a.Before != nil {
		if err := a.Before(verb, o); err != nil {
			return err
		}
	}
	if a.CutAt != 0 && n >= a.CutAt {
		if n == a.CutAt && a.Late {
			if err := do(); err != nil {
				return err
			}
		}
		return ErrCut
	}
	return do()
}

// Create is apply.API's.
func (a *API) Create(ctx context.Context, o client.Object) error {
	return a.write("create", o, func() error { return a.API.Create(ctx, o) })
}

// Patch is apply.API's.
func (a *API) Patch(ctx context.Context, o client.Object, p client.Patch) error {
	return a.write("patch", o, func() error { return a.API.Patch(ctx, o, p) })
}

// PatchStatus is apply.API's.
func (a *API) PatchStatus(ctx context.Context, o client.Object, p client.Patch) error {
	return a.write("patch status", o, func() error { return a.API.PatchStatus(ctx, o, p) })
}

// Delete is apply.API's.
func (a *API) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return a.write("delete", o, func() error { return a.API.Delete(ctx, o, opts...) })
}

// Evict is apply.API's.
func (a *API) Evict(ctx context.Context, p *corev1.Pod, e *policyv1.Eviction) error {
	return a.write("evict", p, func() error { return a.API.Evict(ctx, p, e) })
}

// Events collects what was published, each as "kind/name Reason: message".
type Events struct {
	mu   sync.Mutex
	List []string
}

func (e *Events) add(o runtime.Object, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := ""
	if obj, ok := o.(client.Object); ok {
		name = obj.GetName()
	}
	kind := fmt.Sprintf("%T", o)
	for i := len(kind) - 1; i >= 0; i-- {
		if kind[i] == '.' {
			kind = kind[i+1:]
			break
		}
	}
	e.List = append(e.List, fmt.Sprintf("%s/%s %s: %s", kind, name, reason, message))
}

// Event is record.EventRecorder's.
func (e *Events) Event(o runtime.Object, _, reason, message string) { e.add(o, reason, message) }

// Eventf is record.EventRecorder's.
func (e *Events) Eventf(o runtime.Object, _, reason, format string, args ...any) {
	e.add(o, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf is record.EventRecorder's.
func (e *Events) AnnotatedEventf(o runtime.Object, _ map[string]string, _, reason, format string, args ...any) {
	e.add(o, reason, fmt.Sprintf(format, args...))
}
