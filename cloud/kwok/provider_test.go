package kwok

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/aws/karpenter-provider-aws/pkg/apis/v1" // adds the AWS labels to the well-known ones
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/cloudtest"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// world is a cluster in memory with a simulated cloud on top.
type world struct {
	*testing.T
	*Provider
	client client.Client
	clock  *clocktesting.FakeClock
	events *record.FakeRecorder
}

var defaultClass = snapshot.ClassRef{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"}

// kwokTypes and cheapest, which is what is launched, are shared by all worlds.
var (
	kwokTypes = sync.OnceValue(KWOKCatalogue)
	cheapest  = sync.OnceValue(func() []catalog.Choice { return catalog.Rank(kwokTypes(), nil, nil, nil)[:1] })
)

// kinds are those in use.
var kinds = sync.OnceValue(func() *runtime.Scheme {
	out := runtime.NewScheme()
	utilruntime.Must(errors.Join(corev1.AddToScheme(out), AddToScheme(out)))
	return out
})

func newWorld(t *testing.T) *world {
	t.Helper()
	tracker := clienttesting.NewObjectTracker(kinds(), serializer.NewCodecFactory(kinds()).UniversalDecoder())
	class := &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	w := &world{
		T:      t,
		client: fake.NewClientBuilder().WithScheme(kinds()).WithObjectTracker(tracker).WithObjects(class).WithStatusSubresource(&corev1.Node{}).Build(),
		clock:  clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		events: record.NewFakeRecorder(100),
	}
	w.Provider = w.restart()
	return w
}

func (w *world) restart() *Provider {
	return New(Config{Client: w.client, Clock: w.clock, Types: kwokTypes(), Recorder: w.events})
}

// advance lets time pass, with a step whenever one is due.
func (w *world) advance(d time.Duration) {
	w.Helper()
	for end := w.clock.Now().Add(d); ; {
		pause, err := w.Step(w.Context())
		if err != nil {
			w.Fatalf("step: %v", err)
		}
		left := end.Sub(w.clock.Now())
		if left <= 0 {
			return
		}
		w.clock.Step(min(pause, left))
	}
}

// set turns knobs: key, value, ...
func (w *world) set(pairs ...string) {
	w.Helper()
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: DefaultNamespace, Name: KnobsName}
	err := w.client.Get(w.Context(), key, cm)
	missing := apierrors.IsNotFound(err)
	if missing {
		cm.Namespace, cm.Name, err = key.Namespace, key.Name, nil
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	for i := 0; i < len(pairs); i += 2 {
		cm.Data[pairs[i]] = pairs[i+1]
	}
	switch {
	case err != nil:
	case missing:
		err = w.client.Create(w.Context(), cm)
	default:
		err = w.client.Update(w.Context(), cm)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) request(claim string) cloud.LaunchRequest {
	return cloud.LaunchRequest{
		Token: "uid-" + claim, Claim: claim, Pool: "pool", Class: defaultClass,
		Choices:     slices.Clone(cheapest()),
		Labels:      map[string]string{"karpenter.sh/nodepool": "pool", "team": "blue"},
		Annotations: map[string]string{"note": "kept"},
		Taints: []corev1.Taint{
			{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute},
			{Key: "dedicated", Value: "blue", Effect: corev1.TaintEffectNoSchedule},
		},
	}
}

func (w *world) launch(claim string) cloud.Instance {
	w.Helper()
	instance, err := w.Launch(w.Context(), w.request(claim))
	if err != nil {
		w.Fatal(err)
	}
	return instance
}

// node is the Node of a machine, nil if there is none.
func (w *world) node(name string) *corev1.Node {
	w.Helper()
	var node corev1.Node
	err := w.client.Get(w.Context(), client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return &node
}

func (w *world) setReady(name string, status corev1.ConditionStatus) {
	w.Helper()
	node := w.node(name)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if err := w.client.Status().Update(w.Context(), node); err != nil {
		w.Fatal(err)
	}
}

func (w *world) records() int {
	w.Helper()
	var list corev1.ConfigMapList
	if err := w.client.List(w.Context(), &list, client.MatchingLabels{recordLabel: "true"}); err != nil {
		w.Fatal(err)
	}
	return len(list.Items)
}

func (w *world) state(id string) cloud.State {
	w.Helper()
	instance, err := w.Get(w.Context(), id)
	if errors.Is(err, cloud.ErrNotFound) {
		return gone
	}
	if err != nil {
		w.Fatal(err)
	}
	return instance.State
}

func TestConformance(t *testing.T) {
	cloudtest.Run(t, func(t *testing.T) cloudtest.Cloud {
		w := newWorld(t)
		return cloudtest.Cloud{
			Provider:     w.Provider,
			Class:        defaultClass,
			MissingClass: snapshot.ClassRef{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "nowhere"},
			WellKnown:    wellKnownToKarpenter(),
			Restart:      func() cloud.Provider { return w.restart() },
			Advance:      w.advance,
			Settle:       DefaultKnobs().ShutdownDelay,
			SellOut: func(keys ...catalog.Key) {
				var patterns []string
				for _, k := range keys {
					patterns = append(patterns, k.Type+"/"+k.Zone+"/"+k.CapacityType)
				}
				w.set("insufficientCapacity", strings.Join(patterns, "\n"))
			},
			LoseReply: func() { w.set("lostReplies", "1") },
			Throttle:  func() { w.set("throttles", "1") },
		}
	})
}

// wellKnownToKarpenter are the labels that an instance type must define: all but
// the pool, which is not a property of the type.
func wellKnownToKarpenter() []string {
	keys := karpv1.WellKnownLabels.Clone().Delete(karpv1.NodePoolLabelKey)
	return keys.UnsortedList()
}

func TestAnythingMayBeCutOffAndIsPickedUp(t *testing.T) {
	for writes := range 12 {
		t.Run(fmt.Sprint(writes, " writes, then a crash"), func(t *testing.T) {
			w := newWorld(t)
			left := writes
			crashing := New(Config{Client: &crashingClient{w.client, &left}, Clock: w.clock, Types: kwokTypes()})
			_, _ = crashing.Launch(t.Context(), w.request("a"))
			for range 3 {
				_, _ = crashing.Step(t.Context())
				w.clock.Step(2500 * time.Millisecond)
			}
			instance := w.launch("a")
			_ = crashing.Terminate(t.Context(), instance.ProviderID)
			for range 3 {
				_, _ = crashing.Step(t.Context())
				w.clock.Step(2500 * time.Millisecond)
			}
			w.launch("a")
			w.advance(10 * time.Second)
			if n := w.records(); n > 1 {
				t.Errorf("there are %d machines, want one", n)
			}
			if err := w.Terminate(t.Context(), instance.ProviderID); err != nil && !errors.Is(err, cloud.ErrNotFound) {
				t.Fatal(err)
			}
			w.advance(10 * time.Second)
			if w.node("a") != nil || w.records() != 0 {
				t.Errorf("node %v, %d records", w.node("a") != nil, w.records())
			}
		})
	}
}

func mustList(w *world) []cloud.Instance {
	w.Helper()
	list, err := w.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return list
}

// crashingClient stops writing after a number of writes.
type crashingClient struct {
	client.Client
	left *int
}

func (c *crashingClient) write(do func() error) error {
	if *c.left--; *c.left < 0 {
		return errors.New("crashed")
	}
	return do()
}

func (c *crashingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.write(func() error { return c.Client.Create(ctx, o, opts...) })
}

func (c *crashingClient) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.write(func() error { return c.Client.Update(ctx, o, opts...) })
}

func (c *crashingClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return c.write(func() error { return c.Client.Patch(ctx, o, p, opts...) })
}

func (c *crashingClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.write(func() error { return c.Client.Delete(ctx, o, opts...) })
}

func TestAClaimCannotTakeTheNameOfAMachineThatIsStillThere(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	if err := w.Terminate(t.Context(), instance.ProviderID); err != nil {
		t.Fatal(err)
	}
	req := w.request("a")
	req.Token = "uid-second"
	if _, err := w.Launch(t.Context(), req); err == nil || !strings.Contains(err.Error(), "still shutting-down") {
		t.Errorf("answered %v", err)
	}
	w.advance(5 * time.Second)
	if _, err := w.Launch(t.Context(), req); err != nil {
		t.Errorf("answered %v after the first is gone", err)
	}
}

func TestAnUnreadableRecordIsNamedAndHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	w.launch("a")
	bad := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: "kwok-machine-bad", Labels: map[string]string{recordLabel: "true"}},
		Data:       map[string]string{recordKey: "{"},
	}
	if err := w.client.Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(5 * time.Second)
	_, err := w.Step(t.Context())
	if err == nil || !strings.Contains(err.Error(), "kube-system/kwok-machine-bad") {
		t.Errorf("the step answered %v", err)
	}
	if w.node("a") == nil {
		t.Error("the other machine did not register")
	}
	if _, err := w.List(t.Context()); err == nil {
		t.Error("List answered as if it had seen everything")
	}
}

func TestClassesThatAreNotReadyAreRefused(t *testing.T) {
	w := newWorld(t)
	broken := &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "broken"}}
	broken.StatusConditions().SetFalse("Ready", "Maintenance", "come back later")
	if err := w.client.Create(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		class snapshot.ClassRef
		want  string
	}{
		{snapshot.ClassRef{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "broken"}, "KWOKNodeClass/broken is not ready: come back later"},
		{snapshot.ClassRef{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "nowhere"}, "it does not exist"},
		{snapshot.ClassRef{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"}, "this cloud has no EC2NodeClass"},
	} {
		var notReady *cloud.ClassNotReadyError
		if _, err := w.InstanceTypes(t.Context(), c.class); !errors.As(err, &notReady) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: answered %v, want %q", c.class, err, c.want)
		}
	}
}

func TestNonsensicalLaunchesAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		edit func(*cloud.LaunchRequest)
		want string
	}{
		{func(r *cloud.LaunchRequest) { r.Token = "Not A UID" }, `launch token "Not A UID"`},
		{func(r *cloud.LaunchRequest) { r.Token = strings.Repeat("a", 300) }, "must be no more than 253"},
		{func(r *cloud.LaunchRequest) { r.Claim = "" }, "names no claim"},
		{func(r *cloud.LaunchRequest) { r.Choices = nil }, "no choices"},
		{func(r *cloud.LaunchRequest) { r.Choices[0].Type = &catalog.Type{Name: "z9.huge"} }, "no instance type z9.huge"},
	} {
		req := w.request("a")
		c.edit(&req)
		if _, err := w.Launch(t.Context(), req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("answered %v, want %q", err, c.want)
		}
	}
	if w.records() != 0 {
		t.Error("a refused launch left a record")
	}
}

func TestTheLoopEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Start(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the loop ended with %v", err)
	}
}
