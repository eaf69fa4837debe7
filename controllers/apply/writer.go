package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
)

// Config is what a Writer is made of; every field without a word on nil is required.
type Config struct {
	// API takes the writes.
	API API
	// Store learns of every write at once.
	Store *cluster.Store
	// Recorder publishes events.
	Recorder record.EventRecorder
	// Clock times the windows within which an event is not repeated.
	Clock clock.PassiveClock
	// Refused counts writes that the API server refuses; nil to do without.
	Refused func(verb, kind, reason string)
}

// Writer makes changes in Kubernetes. It is safe for concurrent use.
type Writer struct {
	api      API
	store    *cluster.Store
	recorder record.EventRecorder
	recent   *recent
	count    func(verb, kind, reason string)
	// launching is held from the look at what exists until what is launched does.
	launching sync.Mutex
	// doubted are the claims whose creation got no answer, which may exist: by name, what is
	// to be done if they do.
	doubted sync.Map
	// superseded has states of objects that are known not to be their newest.
	superseded *lru.Cache
}

// remembered is how many superseded states the writer knows.
const remembered = 8192

var errSuperseded = errors.New("the object has been modified since it was read")

// New makes a Writer.
func New(c Config) *Writer {
	w := &Writer{store: c.Store, recorder: c.Recorder, recent: newRecent(c.Clock), count: c.Refused, superseded: lru.New(remembered)}
	if w.count == nil {
		w.count = func(string, string, string) {}
	}
	w.api = reporting{c.API, w}
	return w
}

// Launching has other loops launch nothing until it is done: between the snapshot that says
// what limits leave and the claims that use it up.
func (w *Writer) Launching() (done func()) {
	w.launching.Lock()
	return w.launching.Unlock
}

// CreateClaim creates a claim; afterwards it holds its name and UID, and every
// snapshot shows it. The claim must not be changed any more. After an error it may
// exist nevertheless: see Settle. Created is told of the claim once it is known to exist.
func (w *Writer) CreateClaim(ctx context.Context, claim *karpv1.NodeClaim, created func(*karpv1.NodeClaim)) error {
	err := w.api.Create(ctx, claim)
	w.launch(ctx, claim, err)
	if err != nil {
		if !Refused(err) && !apierrors.IsAlreadyExists(err) {
			w.doubted.Store(claim.Name, created)
		}
		return fmt.Errorf("creating a NodeClaim: %w", err)
	}
	w.doubted.Delete(claim.Name)
	w.store.Update(claim)
	created(claim)
	return nil
}

// Doubts reports whether a claim whose creation ended with an error may exist.
func (w *Writer) Doubts(claim *karpv1.NodeClaim) bool {
	_, doubted := w.doubted.Load(claim.Name)
	return doubted
}

// Settle asks which of the claims exist whose creation got no answer; every snapshot shows
// those afterwards. Who launches calls it before the snapshot, as the watch may lag behind.
func (w *Writer) Settle(ctx context.Context, live client.Reader) error {
	var errs []error
	w.doubted.Range(func(key, _ any) bool {
		claim := &karpv1.NodeClaim{}
		err := live.Get(ctx, types.NamespacedName{Name: key.(string)}, claim)
		switch {
		case err == nil:
			if created, ok := w.doubted.LoadAndDelete(key); ok {
				w.store.Update(claim)
				created.(func(*karpv1.NodeClaim))(claim)
			}
		case apierrors.IsNotFound(err):
			w.doubted.Delete(key)
		default:
			errs = append(errs, fmt.Errorf("reading NodeClaim %s, which may have been created: %w", key, err))
		}
		return true
	})
	return errors.Join(errs...)
}

// Claim changes a claim's metadata and status. The claim that is passed in stays
// as it is; the result is the new state.
func (w *Writer) Claim(ctx context.Context, claim *karpv1.NodeClaim, change func(*karpv1.NodeClaim)) (*karpv1.NodeClaim, error) {
	return patch(ctx, w, claim, change)
}

// Pool changes a pool's metadata and status, like Claim.
func (w *Writer) Pool(ctx context.Context, pool *karpv1.NodePool, change func(*karpv1.NodePool)) (*karpv1.NodePool, error) {
	return patch(ctx, w, pool, change)
}

// Class changes a node class's metadata and status, like Claim, whatever its kind.
func (w *Writer) Class(ctx context.Context, class client.Object, change func(client.Object)) (client.Object, error) {
	return patch(ctx, w, class, change)
}

// Policy changes a NodePolicy's status, like Claim.
func (w *Writer) Policy(ctx context.Context, p *v1alpha1.NodePolicy, change func(*v1alpha1.NodePolicy)) (*v1alpha1.NodePolicy, error) {
	return patch(ctx, w, p, change)
}

// Overlay changes a NodeOverlay's status, like Claim.
func (w *Writer) Overlay(ctx context.Context, o *overlayv1alpha1.NodeOverlay, change func(*overlayv1alpha1.NodeOverlay)) (*overlayv1alpha1.NodeOverlay, error) {
	return patch(ctx, w, o, change)
}

// Buffer changes a CapacityBuffer's status, like Claim.
func (w *Writer) Buffer(ctx context.Context, b *bufferv1beta1.CapacityBuffer, change func(*bufferv1beta1.CapacityBuffer)) (*bufferv1beta1.CapacityBuffer, error) {
	return patch(ctx, w, b, change)
}

// CreateRequest creates a DisruptionRequest; afterwards every snapshot shows it. It
// must not be changed any more.
func (w *Writer) CreateRequest(ctx context.Context, r *v1alpha1.DisruptionRequest) error {
	if err := w.api.Create(ctx, r); err != nil {
		return fmt.Errorf("creating DisruptionRequest %s: %w", r.Name, err)
	}
	w.store.Update(r.DeepCopy())
	return nil
}

// Request changes a DisruptionRequest's status, like Claim.
func (w *Writer) Request(ctx context.Context, r *v1alpha1.DisruptionRequest, change func(*v1alpha1.DisruptionRequest)) (*v1alpha1.DisruptionRequest, error) {
	return patch(ctx, w, r, change)
}

// Node changes a Node's metadata and taints, like Claim.
func (w *Writer) Node(ctx context.Context, node *corev1.Node, change func(*corev1.Node)) (*corev1.Node, error) {
	return patch(ctx, w, node, change)
}

// Pod changes a pod's tolerations and status, like Claim.
func (w *Writer) Pod(ctx context.Context, pod *corev1.Pod, change func(*corev1.Pod)) error {
	_, err := patch(ctx, w, pod, change)
	return err
}

// Delete asks for the deletion of exactly this object: one of the same name but
// another UID is left alone. It reports whether this call was the first to ask;
// an object that is gone or going already is fine. Unlike other writes it teaches
// the store nothing: what was passed in is old afterwards.
func (w *Writer) Delete(ctx context.Context, obj client.Object) (first bool, err error) {
	if obj.GetDeletionTimestamp() != nil {
		return false, nil
	}
	err = w.api.Delete(ctx, obj, preconditions(obj))
	switch {
	case err == nil:
		return w.recent.first("delete\x00"+string(obj.GetUID()), defaultWindow), nil
	case gone(err):
		return false, nil
	}
	return false, fmt.Errorf("deleting %s: %w", obj.GetName(), err)
}

// gone reports that an object does not exist, or that its name belongs to
// another by now.
func gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func preconditions(obj client.Object) client.Preconditions {
	uid := obj.GetUID()
	return client.Preconditions{UID: &uid}
}
