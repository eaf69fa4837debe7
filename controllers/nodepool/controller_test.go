package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var ctx = context.Background()

func pool(change func(*karpv1.NodePool)) *karpv1.NodePool {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool", Generation: 1}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	if change != nil {
		change(np)
	}
	return np
}

// class is a node class with the given Ready condition; none if it is empty.
func class(ready, reason, message string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: looptest.Class.Group, Version: "v1alpha1", Kind: looptest.Class.Kind})
	u.SetName(looptest.Class.Name)
	u.SetGeneration(1)
	if ready != "" {
		_ = unstructured.SetNestedSlice(u.Object, []any{
			map[string]any{"type": "Validated", "status": "True"},
			map[string]any{"type": "Tried", "status": "False", "reason": snapshot.DependenciesNotReady, "message": "waits for SubnetsReady"},
			map[string]any{"type": "SubnetsReady", "status": "False", "message": "no subnet matches"},
			map[string]any{"type": "Ready", "status": ready, "reason": reason, "message": message},
		}, "status", "conditions")
	}
	return u
}

func reconciler(r *looptest.Rig) *Reconciler {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: looptest.Class.Group, Version: "v1alpha1"}})
	mapper.Add(schema.GroupVersionKind{Group: looptest.Class.Group, Version: "v1alpha1", Kind: looptest.Class.Kind}, meta.RESTScopeRoot)
	return New(r.Deps, mapper)
}

func run(t *testing.T, r *looptest.Rig, c *Reconciler) *karpv1.NodePool {
	t.Helper()
	r.Sync()
	if _, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: "general"}}); err != nil {
		t.Fatal(err)
	}
	np := pool(nil)
	r.Get(np)
	return np
}

func condition(np *karpv1.NodePool, conditionType string) string {
	c := np.StatusConditions(status.WithObservedOnly()).Get(conditionType)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func TestAPoolIsAsReadyAsItsClass(t *testing.T) {
	deleting := class("True", "", "")
	deleting.SetFinalizers([]string{"example.com/keep"})
	at := metav1.NewTime(looptest.Noon)
	deleting.SetDeletionTimestamp(&at)
	for name, tc := range map[string]struct {
		class client.Object
		types error
		want  string
		ready string
	}{
		"ready":     {class("True", "Ready", ""), nil, "True NodeClassReady: ", "True Ready: "},
		"not ready": {class("False", "SubnetsNotFound", "no subnet matches"), nil, "False SubnetsNotFound: no subnet matches", "False UnhealthyDependents: NodeClassReady=False"},
		"made of others": {class("False", "UnhealthyDependents", "Tried=False, SubnetsReady=False, Validated=Unknown"), nil,
			"False UnhealthyDependents: SubnetsReady=False (no subnet matches), Validated=Unknown", "False UnhealthyDependents: NodeClassReady=False"},
		"undecided": {class("Unknown", "", ""), nil, "False NodeClassReadinessUnknown: NodeClass has not reported whether it is ready", "False UnhealthyDependents: NodeClassReady=False"},
		"missing":   {nil, nil, "False NodeClassNotFound: NodeClass not found on cluster", "False UnhealthyDependents: NodeClassReady=False"},
		"going":     {deleting, nil, "False NodeClassTerminating: NodeClass is terminating", "False UnhealthyDependents: NodeClassReady=False"},
		"unmanaged": {class("", "", ""), nil, "True NodeClassReady: ", "True Ready: "},
		"unmanaged and refused": {class("", "", ""), &cloud.ClassNotReadyError{Class: "KWOKNodeClass/default", Reason: "no such thing"},
			"False NodeClassNotReady: no such thing", "False UnhealthyDependents: NodeClassReady=False"},
		"unmanaged and out of reach": {class("", "", ""), errors.New("timeout"),
			"False NodeClassReadinessUnknown: NodeClass has not reported whether it is ready", "False UnhealthyDependents: NodeClassReady=False"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{pool(nil)}
			if tc.class != nil {
				objects = append(objects, tc.class)
			}
			r := looptest.New(t, objects...)
			r.Types = func(snapshot.ClassRef) ([]*catalog.Type, error) { return nil, tc.types }
			np := run(t, r, reconciler(r))
			if got := condition(np, karpv1.ConditionTypeNodeClassReady); got != tc.want {
				t.Errorf("NodeClassReady is %q, want %q", got, tc.want)
			}
			if got := condition(np, status.ConditionReady); got != tc.ready {
				t.Errorf("Ready is %q, want %q", got, tc.ready)
			}
		})
	}
}

// Karpenter's schema admits schedules that are none.
func TestAPoolSaysWhichOfItsBudgetsCannotBeReadAndLaunchesAllTheSame(t *testing.T) {
	schedule := "0 25 * * *"
	r := looptest.New(t, class("True", "", ""), pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "10%"}, {Nodes: "0", Schedule: &schedule, Duration: &metav1.Duration{Duration: time.Hour}}}
	}))
	c := reconciler(r)
	np := run(t, r, c)
	const want = `spec.disruption.budgets[1]: schedule "0 25 * * *": end of range (25) above maximum (23): 25, so no machine of the pool is disrupted`
	if got := condition(np, "BudgetInvalid"); got != "True ValidationFailed: "+want {
		t.Errorf("the pool says %q", got)
	}
	if got := condition(np, status.ConditionReady); !strings.HasPrefix(got, "True") {
		t.Errorf("Ready is %q", got)
	}
	if !slices.Contains(r.Events.List, "NodePool/general ValidationFailed: "+want) {
		t.Errorf("events %q", r.Events.List)
	}
	np.Spec.Disruption.Budgets = np.Spec.Disruption.Budgets[:1]
	r.Must(r.Client.Update(ctx, np))
	if got := condition(run(t, r, c), "BudgetInvalid"); got != "" {
		t.Errorf("when it is mended the pool says %q", got)
	}
}

func TestAPoolThatCannotWorkIsNotReady(t *testing.T) {
	r := looptest.New(t, class("True", "", ""), pool(func(np *karpv1.NodePool) {
		np.Spec.Template.Labels = map[string]string{"karpenter.sh/custom": "x"}
		np.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("0s")
		np.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "karpenter.sh/nodepool", Operator: "In", Values: []string{"x"}}}
	}))
	c := reconciler(r)
	np := run(t, r, c)
	first := condition(np, karpv1.ConditionTypeValidationSucceeded)
	if !strings.HasPrefix(first, "False NodePoolValidationFailed: ") || !strings.Contains(first, "karpenter.sh/custom") || !strings.Contains(first, "karpenter.sh/nodepool") || !strings.Contains(first, "spec.template.spec.expireAfter: ") {
		t.Errorf("ValidationSucceeded is %q", first)
	}
	writes := r.API.Writes
	for range 5 { // the rules walk over maps; the text must not
		run(t, r, c)
	}
	if r.API.Writes != writes {
		t.Errorf("%d writes although nothing changed", r.API.Writes-writes)
	}
}

func TestAPoolOfAnotherProviderIsLeftAlone(t *testing.T) {
	r := looptest.New(t, pool(func(np *karpv1.NodePool) { np.Spec.Template.Spec.NodeClassRef.Group = "karpenter.azure.com" }))
	run(t, r, reconciler(r))
	if r.API.Writes != 0 {
		t.Errorf("%d writes", r.API.Writes)
	}
}

func claim(name string, change func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Labels: map[string]string{karpv1.NodePoolLabelKey: "general"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "general", UID: "pool"}},
	}}
	if change != nil {
		change(nc)
	}
	return nc
}

func TestTheHashIsStampedAndClaimsOfAnotherVersionAreCarriedOver(t *testing.T) {
	const hash, version = karpv1.NodePoolHashAnnotationKey, karpv1.NodePoolHashVersionAnnotationKey
	stamped := func(h, v string) func(*karpv1.NodeClaim) {
		return func(nc *karpv1.NodeClaim) { nc.Annotations = map[string]string{hash: h, version: v} }
	}
	drifted := claim("drifted", stamped("1", "v2"))
	drifted.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeDrifted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(looptest.Noon)}}
	np := pool(func(np *karpv1.NodePool) {
		np.Annotations = map[string]string{hash: "1", version: "v2"}
		np.Spec.Template.Labels = map[string]string{"team": "a"}
	})
	r := looptest.New(t, class("True", "", ""), np, drifted, claim("old", stamped("1", "v2")), claim("present", stamped("2", "v3")))
	after := run(t, r, reconciler(r))
	want := np.Hash()
	if after.Annotations[hash] != want || after.Annotations[version] != "v3" {
		t.Errorf("the pool has %v", after.Annotations)
	}
	for name, h := range map[string]string{
		"old":     want, // is taken to be made from the pool as it is
		"drifted": "1",  // keeps its hash, and so stays drifted
		"present": "2",  // is none of our business
	} {
		nc := claim(name, nil)
		r.Get(nc)
		if nc.Annotations[hash] != h || nc.Annotations[version] != "v3" {
			t.Errorf("claim %s has %v, want hash %s", name, nc.Annotations, h)
		}
	}
}

func TestTheStampIsTheOneThatKarpenterComputes(t *testing.T) {
	// What Karpenter v1.14's published types compute: an upgrade of the package
	// that changes it would make every node drift.
	const golden = "12745407319442031341"
	np := pool(func(np *karpv1.NodePool) {
		np.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
	})
	stamp(np)
	if got := np.Annotations[karpv1.NodePoolHashAnnotationKey]; got != golden {
		t.Errorf("hash %s, want %s", got, golden)
	}
}

func machine(name, cpu string, change func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	return claim(name, func(nc *karpv1.NodeClaim) {
		nc.Status.ProviderID = "kwok://" + name
		nc.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse(cpu), "example.com/gpu": resource.MustParse("1")}
		if change != nil {
			change(nc)
		}
	})
}

func TestTheStatusCountsWhatIsLaunchedAndNotLeaving(t *testing.T) {
	r := looptest.New(t, class("True", "", ""), pool(nil))
	c := reconciler(r)
	np := run(t, r, c)
	if got := amounts(np); got != "cpu=0 ephemeral-storage=0 memory=0 nodes=0 pods=0, 0 nodes" {
		t.Errorf("an empty pool has %s", got)
	}
	leaving := machine("leaving", "8", func(nc *karpv1.NodeClaim) { nc.Finalizers = []string{karpv1.TerminationFinalizer} })
	for _, nc := range []*karpv1.NodeClaim{machine("a", "2", nil), machine("b", "1500m", nil), leaving, claim("on-its-way", nil)} {
		r.Must(r.Client.Create(ctx, nc))
	}
	r.Must(r.Client.Delete(ctx, leaving))
	np = run(t, r, c)
	if got := amounts(np); got != "cpu=3500m ephemeral-storage=0 example.com/gpu=2 memory=0 nodes=2 pods=0, 3 nodes" {
		t.Errorf("the pool has %s", got)
	}
	writes := r.API.Writes
	run(t, r, c)
	if r.API.Writes != writes {
		t.Error("the same status was written again")
	}
}

func amounts(np *karpv1.NodePool) string {
	var out []string
	for name, q := range np.Status.Resources {
		out = append(out, fmt.Sprintf("%s=%s", name, q.String()))
	}
	slices.Sort(out)
	return fmt.Sprintf("%s, %d nodes", strings.Join(out, " "), *np.Status.Nodes)
}

// ended is a claim whose launch went the given way, as the lifecycle leaves it.
func ended(name, how string, at time.Time) *karpv1.NodeClaim {
	set := func(nc *karpv1.NodeClaim, t, s, reason string) {
		nc.Status.Conditions = append(nc.Status.Conditions, status.Condition{Type: t, Status: metav1.ConditionStatus(s), Reason: reason, LastTransitionTime: metav1.NewTime(at)})
	}
	return claim(name, func(nc *karpv1.NodeClaim) {
		age, gone := time.Minute, metav1.NewTime(at)
		switch how {
		case "registered":
			set(nc, karpv1.ConditionTypeLaunched, "True", "Launched")
			set(nc, karpv1.ConditionTypeRegistered, "True", "Registered")
		case "never launched":
			age, nc.DeletionTimestamp = snapshot.DefaultLaunchTimeout, &gone
			set(nc, karpv1.ConditionTypeLaunched, "Unknown", "LaunchFailed")
		case "never registered":
			age, nc.DeletionTimestamp = snapshot.DefaultRegistrationTimeout, &gone
			set(nc, karpv1.ConditionTypeLaunched, "True", "Launched")
		case "out of capacity":
			nc.DeletionTimestamp = &gone
		}
		nc.CreationTimestamp = metav1.NewTime(at.Add(-age))
	})
}

func TestRegistrationHealthIsThatOfTheLastFourLaunches(t *testing.T) {
	r := looptest.New(t, class("True", "", ""), pool(nil))
	c := reconciler(r)
	health := func() string {
		return condition(run(t, r, c), karpv1.ConditionTypeNodeRegistrationHealthy)
	}
	if got := health(); !strings.HasPrefix(got, "Unknown AwaitingReconciliation") {
		t.Fatalf("at first: %q", got)
	}
	for i, step := range []struct{ how, want string }{
		{"out of capacity", "Unknown AwaitingReconciliation: object is awaiting reconciliation"},
		{"registered", "True NodeRegistrationHealthy: "},
		{"never launched", "True NodeRegistrationHealthy: "},
		{"never registered", "False RegistrationFailed: the node did not register in time"},
		{"never launched", "False LaunchFailed: "},
		{"registered", "False LaunchFailed: "},
		{"registered", "False LaunchFailed: "},
		{"registered", "True NodeRegistrationHealthy: "},
	} {
		nc := ended(fmt.Sprint("claim-", i), step.how, looptest.Noon.Add(time.Minute))
		c.health.Observe(nc)
		c.health.Observe(nc) // the same claim is one launch
		if got := health(); got != step.want {
			t.Errorf("step %d, %s: %q, want %q", i, step.how, got, step.want)
		}
	}
}

// What else a pool says, such as its budgets, makes no machine register that did not.
func TestHealthIsUnknownAgainWhenTheTemplateChanges(t *testing.T) {
	for _, how := range []string{"registered", "never registered"} {
		r := looptest.New(t, class("True", "", ""), pool(nil))
		c := reconciler(r)
		run(t, r, c)
		for i := range 2 {
			c.health.Observe(ended(fmt.Sprint(i), how, looptest.Noon))
		}
		np := run(t, r, c)
		before := condition(np, karpv1.ConditionTypeNodeRegistrationHealthy)
		if strings.HasPrefix(before, "Unknown") {
			t.Fatalf("%s: before: %q", how, before)
		}
		for step, change := range []func(){
			func() { np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "3"}} },
			func() { np.Spec.Weight = new(int32(7)) },
		} {
			change()
			np.Generation++
			r.Must(r.Client.Update(ctx, np))
			np = run(t, r, c)
			if got := condition(np, karpv1.ConditionTypeNodeRegistrationHealthy); got != before {
				t.Errorf("%s: after step %d: %q", how, step, got)
			}
			c = reconciler(r) // the condition is of this generation, so a restart changes nothing
			np = run(t, r, c)
			if got := condition(np, karpv1.ConditionTypeNodeRegistrationHealthy); got != before {
				t.Errorf("%s: after a restart: %q", how, got)
			}
		}
		np.Spec.Template.Labels = map[string]string{"team": "other"}
		np.Generation++
		r.Must(r.Client.Update(ctx, np))
		if got := condition(run(t, r, c), karpv1.ConditionTypeNodeRegistrationHealthy); !strings.HasPrefix(got, "Unknown") {
			t.Errorf("%s: with another template: %q", how, got)
		}
	}
}

func TestARestartNeitherForgetsNorRepeatsWhatWasCounted(t *testing.T) {
	r := looptest.New(t, class("True", "", ""), pool(nil))
	c := reconciler(r)
	run(t, r, c)
	for i := range 2 {
		c.health.Observe(ended(fmt.Sprint(i), "never registered", looptest.Noon))
	}
	run(t, r, c)

	r.Clock.Step(time.Hour)
	r.Restart()
	c = reconciler(r)
	c.health.Observe(ended("old", "registered", looptest.Noon)) // the informer's first list
	if got := condition(run(t, r, c), karpv1.ConditionTypeNodeRegistrationHealthy); !strings.HasPrefix(got, "False RegistrationFailed") {
		t.Errorf("after the restart: %q", got)
	}
}

func TestAChangeOfAClassIsForThePoolsThatReferToIt(t *testing.T) {
	other := pool(func(np *karpv1.NodePool) {
		np.Name, np.UID = "other", "other"
		np.Spec.Template.Spec.NodeClassRef.Name = "other"
	})
	got := reconciler(looptest.New(t, pool(nil), other)).poolsOf(ctx, looptest.Class)
	if len(got) != 1 || got[0].Name != "general" {
		t.Errorf("got %v", got)
	}
}
