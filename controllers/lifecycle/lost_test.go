package lifecycle_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// working is a world with one initialized machine, claim c and Node n.
func working(t *testing.T) (*world, *corev1.Node) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	_, err := w.reconcileOnce()
	w.Must(err)
	node := w.Join(w.Cloud.Ledger[0], "n")
	for range 2 {
		_, err := w.reconcileOnce()
		w.Must(err)
	}
	if !w.initialized("c")() {
		t.Fatal("the machine is not initialized")
	}
	w.Get(node)
	return w, node
}

func TestAMachineWhoseNodeSomebodyRemovedIsGivenUp(t *testing.T) {
	w, node := working(t)
	node.Finalizers = nil
	w.Must(w.Rig.Client.Update(ctx, node))
	w.Delete(node)
	w.until("nothing is left", func() bool { return len(w.Claims()) == 0 && len(w.Cloud.Alive()) == 0 })
}

// A Node that waits for the pods planned for it is on record: if it is deleted, its kubelet, which
// does not make another, is not waited for.
func TestAMachineWhoseNodeSomebodyRemovedBeforeItRegisteredFails(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	_, err := w.reconcileOnce()
	w.Must(err)
	c := w.claim("c")
	c.Status.NodeName = "n"
	w.Must(w.Rig.Client.Status().Update(ctx, c))
	node, cache := w.Join(w.Cloud.Ledger[0], "n"), w.Deps.Client
	w.Deps.Client = withoutNodes{cache}
	_, err = w.reconcileOnce()
	w.Must(err)
	if w.claim("c").DeletionTimestamp != nil {
		t.Fatal("the claim is given up for a Node that only the cache misses")
	}
	w.Deps.Client = cache
	w.Delete(node)
	_, err = w.reconcileOnce()
	w.Must(err)
	if c := w.claim("c"); c.DeletionTimestamp == nil || c.Annotations["millwright.dev/given-up"] != "machine_ended" {
		t.Errorf("the claim is deleted %v, given up for %q", c.DeletionTimestamp, c.Annotations["millwright.dev/given-up"])
	}
	w.until("nothing is left", func() bool { return len(w.Claims()) == 0 && len(w.Cloud.Alive()) == 0 })
}

func TestAClaimThatHasLostItsProviderIDIsNotGivenUp(t *testing.T) {
	w, _ := working(t)
	c := w.claim("c")
	c.Status.ProviderID = ""
	w.Must(w.Rig.Client.Status().Update(ctx, c))
	_, err := w.reconcileOnce()
	w.Must(err)
	if w.claim("c").DeletionTimestamp != nil {
		t.Error("it is given up")
	}
}

// As after a restore of claims without their status.
func TestAClaimOfWhichNothingIsOnRecordFindsItsMachine(t *testing.T) {
	for name, change := range map[string]func(*world){
		"ours":                                   func(*world) {},
		"another controller's":                   func(w *world) { w.Cloud.Ledger[0].Token = "" },
		"another controller's, and all sold out": func(w *world) { w.Cloud.Ledger[0].Token = ""; w.Offered = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := working(t)
			change(w)
			c := w.claim("c")
			c.Status = karpv1.NodeClaimStatus{}
			w.Must(w.Rig.Client.Status().Update(ctx, c))
			w.Rig.Clock.Step(time.Hour)
			for range 3 {
				_, err := w.reconcileOnce()
				w.Must(err)
			}
			if c := w.claim("c"); c.Status.ProviderID != w.Cloud.Ledger[0].ProviderID || len(w.Cloud.Ledger) != 1 || !w.initialized("c")() {
				t.Errorf("provider ID %q, machines %d, %+v", c.Status.ProviderID, len(w.Cloud.Ledger), c.Status.Conditions)
			}
		})
	}
}

func TestThatTheCloudCannotBeAskedForTheMachineOfAClaimIsLoggedOnce(t *testing.T) {
	w, _ := working(t)
	c := w.claim("c")
	c.Status = karpv1.NodeClaimStatus{}
	w.Must(w.Rig.Client.Status().Update(ctx, c))
	w.Rig.Clock.Step(time.Hour)
	w.Cloud.Answer = func(string) error {
		return &cloud.UnauthorizedError{Action: "ec2:DescribeInstances", Err: errors.New("you may not")}
	}
	var lines []string
	r, logged := lifecycle.New(w.Deps), looptest.Logged(&lines)
	for range 5 {
		w.Rig.Clock.Step(time.Minute)
		result, err := r.Reconcile(logged, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
		if err != nil || result.RequeueAfter == 0 {
			t.Errorf("answered %v, %v", result, err)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "you may not") {
		t.Errorf("logged %q", lines)
	}
	w.Cloud.Answer = nil
	w.Rig.Clock.Step(time.Minute)
	_, err := r.Reconcile(logged, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
	w.Must(err)
	if c := w.claim("c"); c.DeletionTimestamp != nil || c.Status.ProviderID != w.Cloud.Ledger[0].ProviderID {
		t.Errorf("once the cloud can be asked: %+v", c.Status)
	}
}

// unaware is a cloud that does not know what overlays give its types, once it has launched.
type unaware struct{ cloud.Provider }

func (u unaware) List(ctx context.Context) ([]cloud.Instance, error) {
	list, err := u.Provider.List(ctx)
	for i := range list {
		list[i].Capacity, list[i].Allocatable = bare(list[i])
	}
	return list, err
}

func (u unaware) Launch(ctx context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	i, err := u.Provider.Launch(ctx, req)
	i.Capacity, i.Allocatable = bare(i)
	return i, err
}

func bare(i cloud.Instance) (capacity, allocatable corev1.ResourceList) {
	capacity, allocatable = maps.Clone(i.Capacity), maps.Clone(i.Allocatable)
	delete(capacity, slots)
	delete(allocatable, slots)
	return capacity, allocatable
}

const slots = "example.com/slots"

// As after a crash between a launch and its record, or a restore of claims without their status.
func TestAMachineThatIsFoundAgainIsPromisedWhatOverlaysGiveItsType(t *testing.T) {
	for name, after := range map[string]time.Duration{"launched again": 0, "looked for": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w, _ := working(t)
			two := resource.MustParse("2")
			with := *w.Offered[0]
			with.Capacity, with.AddedBy = maps.Clone(with.Capacity), map[corev1.ResourceName]string{slots: "slots"}
			with.Capacity[slots] = two
			w.Offered = []*catalog.Type{&with}
			w.Deps.Provider = unaware{w.Deps.Provider}
			c := w.claim("c")
			c.Status = karpv1.NodeClaimStatus{}
			w.Must(w.Rig.Client.Status().Update(ctx, c))
			w.Rig.Clock.Step(after)
			for range 2 {
				_, err := w.reconcileOnce()
				w.Must(err)
			}
			got := w.claim("c").Status
			if got.ProviderID == "" || !got.Capacity[slots].Equal(two) || !got.Allocatable[slots].Equal(two) || got.Capacity.Cpu().IsZero() {
				t.Errorf("machine %q: capacity %v, allocatable %v", got.ProviderID, got.Capacity, got.Allocatable)
			}
		})
	}
}

func TestANodeThatOnlyTheCacheMissesIsNotLost(t *testing.T) {
	w, _ := working(t)
	w.Deps.Client = withoutNodes{w.Deps.Client}
	result, err := w.reconcileOnce()
	w.Must(err)
	if w.claim("c").DeletionTimestamp != nil || result.RequeueAfter == 0 {
		t.Errorf("deleted %v, again after %v", w.claim("c").DeletionTimestamp, result.RequeueAfter)
	}
}

func TestAMachineThatNeverJoinsIsGivenUpAndStopped(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	_, err := w.reconcileOnce()
	w.Must(err)
	w.Rig.Clock.Step(15*time.Minute - time.Second)
	result, err := w.reconcileOnce()
	w.Must(err)
	if c := w.claim("c"); c.DeletionTimestamp != nil || result.RequeueAfter > time.Second {
		t.Fatalf("deleted %v, again after %v", c.DeletionTimestamp, result.RequeueAfter)
	}
	w.Rig.Clock.Step(time.Second)
	for range 2 {
		_, err = w.reconcileOnce() // gives it up, then stops the machine
		w.Must(err)
	}
	if got := w.Cloud.Alive(); len(got) != 0 {
		t.Fatalf("machine %s still runs", got[0].ProviderID)
	}
	w.Cloud.Step()
	_, err = w.reconcileOnce()
	w.Must(err)
	if len(w.Claims()) != 0 {
		t.Error("the claim is still there")
	}
}

// withoutNodes is a cache that has not seen any Node.
type withoutNodes struct{ client.Reader }

func (r withoutNodes) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*corev1.NodeList); ok {
		return nil
	}
	return r.Reader.List(ctx, list, opts...)
}

// A kubelet that joins with another machine's provider ID is warned of on both, and neither
// takes part in the machine's life nor goes with it.
func TestANodeWithAnotherMachinesProviderIDIsOnlyWarnedOf(t *testing.T) {
	w, node := working(t)
	duplicate := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a-duplicate"}, Spec: corev1.NodeSpec{ProviderID: node.Spec.ProviderID}}
	w.Must(w.Rig.Client.Create(ctx, duplicate))
	_, err := w.reconcileOnce()
	w.Must(err)
	for _, want := range []string{"NodeClaim/c MultipleNodesFound: several Nodes carry the same provider ID: node/n, node/a-duplicate", "Node/a-duplicate MultipleNodesFound"} {
		if !slices.ContainsFunc(w.Events.List, func(e string) bool { return strings.HasPrefix(e, want) }) {
			t.Errorf("no event %q in %v", want, w.Events.List)
		}
	}
	if c := w.claim("c"); c.Status.NodeName != "n" || c.DeletionTimestamp != nil {
		t.Errorf("the claim's Node is %q, deleted %v", c.Status.NodeName, c.DeletionTimestamp)
	}
	w.Delete(w.claim("c"))
	w.until("the machine is gone", func() bool { return len(w.Claims()) == 0 && len(w.Cloud.Alive()) == 0 })
	if left := w.nodes(); len(left) != 1 || left[0].Name != "a-duplicate" || left[0].DeletionTimestamp != nil {
		t.Errorf("left are %v", left)
	}
}
