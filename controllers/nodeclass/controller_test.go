package nodeclass_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/nodeclass"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const (
	finalizer           = "test.io/termination"
	hashKey, versionKey = "test.io/hash", "test.io/hash-version"
)

// keeper plays a provider; its classes are ConfigMaps, whose data are the spec and the status.
type keeper struct {
	err      error
	released []string
}

func (k *keeper) ClassKind() cloud.ClassKind {
	return cloud.ClassKind{New: func() cloud.Class { return &corev1.ConfigMap{} }, Finalizer: finalizer, HashKey: hashKey, VersionKey: versionKey, Version: "v2"}
}

func (k *keeper) Hash(c cloud.Class) string { return "hash-of-" + c.(*corev1.ConfigMap).Data["spec"] }

func (k *keeper) Resolve(_ context.Context, c cloud.Class) (time.Duration, error) {
	c.(*corev1.ConfigMap).Data["status"] = "resolved"
	return time.Minute, k.err
}

func (k *keeper) Release(_ context.Context, c cloud.Class) error {
	k.released = append(k.released, c.GetName())
	return k.err
}

type world struct {
	*looptest.Rig
	t      *testing.T
	keeper *keeper
}

func newWorld(t *testing.T) *world {
	class := &corev1.ConfigMap{Data: map[string]string{"spec": "1"}}
	class.Name = looptest.Class.Name
	return &world{looptest.New(t, class), t, &keeper{}}
}

func (w *world) reconcile() (reconcile.Result, error) {
	w.t.Helper()
	w.Sync()
	return nodeclass.New(w.Deps, w.keeper).Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: looptest.Class.Name}})
}

func (w *world) class() *corev1.ConfigMap {
	c := &corev1.ConfigMap{}
	w.Must(w.Rig.Client.Get(w.t.Context(), client.ObjectKey{Name: looptest.Class.Name}, c))
	return c
}

func (w *world) claim(name, hash, version string, drifted bool) *karpv1.NodeClaim {
	c := w.NewClaim(name)
	c.Annotations = map[string]string{hashKey: hash, versionKey: version}
	w.Must(w.Rig.Client.Create(w.t.Context(), c))
	if drifted {
		c.StatusConditions().SetTrue(karpv1.ConditionTypeDrifted)
		w.Must(w.Rig.Client.Status().Update(w.t.Context(), c))
	}
	return c
}

func TestAClassGetsItsFinalizerItsHashAndItsStatus(t *testing.T) {
	w := newWorld(t)
	if result, err := w.reconcile(); err != nil || result.RequeueAfter != time.Minute {
		t.Fatalf("again in %v, error %v", result.RequeueAfter, err)
	}
	c := w.class()
	if !slices.Contains(c.Finalizers, finalizer) || c.Annotations[hashKey] != "hash-of-1" || c.Annotations[versionKey] != "v2" || c.Data["status"] != "resolved" {
		t.Errorf("the class is %+v", c)
	}
}

// failing is the keeper of classes with conditions, of which one says what is wrong.
type failing struct {
	keeper
	reason string
}

func (k *failing) ClassKind() cloud.ClassKind {
	kind := k.keeper.ClassKind()
	kind.New = func() cloud.Class { return &karpv1.NodePool{} }
	return kind
}

func (k *failing) Hash(cloud.Class) string { return "hash" }

func (k *failing) Resolve(_ context.Context, c cloud.Class) (time.Duration, error) {
	conditions := c.(*karpv1.NodePool).StatusConditions()
	if k.reason == "" {
		conditions.SetTrue(karpv1.ConditionTypeNodeClassReady)
	} else {
		conditions.SetFalse(karpv1.ConditionTypeNodeClassReady, k.reason, "no subnet fits")
		conditions.SetFalse(karpv1.ConditionTypeValidationSucceeded, snapshot.DependenciesNotReady, "waits for the others")
	}
	return time.Minute, nil
}

func TestWhatIsWrongWithAClassIsToldOnceByAnEvent(t *testing.T) {
	pool := &karpv1.NodePool{}
	pool.Name = looptest.Class.Name
	rig, k := looptest.New(t, pool), &failing{}
	for _, step := range []struct {
		reason string
		events int
	}{{"", 0}, {"SubnetsNotFound", 1}, {"SubnetsNotFound", 1}, {"Unauthorized", 2}, {"", 2}} {
		k.reason = step.reason
		rig.Sync()
		if _, err := nodeclass.New(rig.Deps, k).Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
			t.Fatal(err)
		}
		if len(rig.Events.List) != step.events {
			t.Errorf("after %q there are %d events, want %d: %v", step.reason, len(rig.Events.List), step.events, rig.Events.List)
		}
	}
	if got := strings.Join(rig.Events.List, "\n"); !strings.Contains(got, "SubnetsNotFound") || !strings.Contains(got, "NodeClassReady: no subnet fits") {
		t.Errorf("events %s", got)
	}
}

// The rest is asked for again every 15 seconds at most, and the log has it once.
func TestWhatWasWorkedOutIsWrittenAlsoIfSomethingIsMissing(t *testing.T) {
	w := newWorld(t)
	w.keeper.err = errors.New("AWS is slow")
	w.Sync()
	var lines []string
	r, logged, again := nodeclass.New(w.Deps, w.keeper), looptest.Logged(&lines), time.Duration(0)
	for range 10 {
		result, err := r.Reconcile(logged, reconcile.Request{NamespacedName: client.ObjectKey{Name: looptest.Class.Name}})
		if again = result.RequeueAfter; err != nil || again == 0 {
			t.Fatalf("again in %v, error %v", again, err)
		}
		w.Clock.Step(again)
	}
	if again != 15*time.Second || len(lines) != 1 || !strings.Contains(lines[0], "AWS is slow") {
		t.Errorf("asked again in %v, and logged: %q", again, lines)
	}
	if w.class().Data["status"] != "resolved" {
		t.Error("the status was not written")
	}
}

func TestAHashThatSomebodyComputedInAnotherWayMakesNoMachineDrift(t *testing.T) {
	w := newWorld(t)
	c := w.class()
	c.Annotations = map[string]string{hashKey: "theirs", versionKey: "v1"}
	w.Must(w.Rig.Client.Update(t.Context(), c))
	same, drifted := w.claim("same", "theirs", "v1", false), w.claim("drifted", "other", "v1", true)
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.Get(same)
	w.Get(drifted)
	if same.Annotations[hashKey] != "hash-of-1" || same.Annotations[versionKey] != "v2" {
		t.Errorf("the claim of the class as it is has %v", same.Annotations)
	}
	if drifted.Annotations[hashKey] != "other" || drifted.Annotations[versionKey] != "v2" {
		t.Errorf("the claim that had drifted has %v", drifted.Annotations)
	}
}

func TestClaimsKeepTheHashOfTheSpecThatTheyWereLaunchedFrom(t *testing.T) {
	w := newWorld(t)
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	claim := w.claim("c", "hash-of-1", "v2", false)
	c := w.class()
	c.Data["spec"] = "2"
	w.Must(w.Rig.Client.Update(t.Context(), c))
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.Get(claim)
	if claim.Annotations[hashKey] != "hash-of-1" || w.class().Annotations[hashKey] != "hash-of-2" {
		t.Errorf("the claim has %s, the class %s", claim.Annotations[hashKey], w.class().Annotations[hashKey])
	}
}

func TestAClassThatIsDeletedWaitsForItsClaims(t *testing.T) {
	w := newWorld(t)
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	claim := w.claim("c", "hash-of-1", "v2", false)
	w.Must(w.Rig.Client.Delete(t.Context(), w.class()))
	if result, err := w.reconcile(); err != nil || result.RequeueAfter == 0 || len(w.keeper.released) > 0 {
		t.Fatalf("again in %v, error %v, released %v", result.RequeueAfter, err, w.keeper.released)
	}
	if got := strings.Join(w.Events.List, "\n"); !strings.Contains(got, "WaitingOnNodeClaimTermination") || !strings.Contains(got, "for c") {
		t.Errorf("events %s", got)
	}
	w.Must(w.Rig.Client.Delete(t.Context(), claim))
	w.keeper.err = errors.New("AWS is slow")
	if _, err := w.reconcile(); err == nil || !slices.Contains(w.class().Finalizers, finalizer) {
		t.Errorf("let go although something is left: %v", err)
	}
	w.keeper.err = nil
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	if err := w.Rig.Client.Get(t.Context(), client.ObjectKey{Name: looptest.Class.Name}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}
