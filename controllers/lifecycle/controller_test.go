package lifecycle_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// reconcileOnce runs one step for claim c.
func (w *world) reconcileOnce() (reconcile.Result, error) {
	return lifecycle.New(w.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
}

// launching is a world with a fresh claim and a cloud that answers launches with
// an error.
func launching(t *testing.T, answer error) *world {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	w.Cloud.Answer = func(call string) error {
		if call == "launch" {
			return answer
		}
		return nil
	}
	return w
}

func TestWhatTheCloudAnswersToALaunchDecidesWhatHappens(t *testing.T) {
	refused := catalog.Key{Type: "m", Zone: "a", CapacityType: catalog.Spot}
	for name, test := range map[string]struct {
		answer    error
		deleted   bool
		message   string // of the Launched condition
		reason    string // of it, LaunchFailed if empty
		again     time.Duration
		err       bool
		event     string
		refusedTo bool
	}{
		"sold out":         {answer: &cloud.InsufficientCapacityError{Offerings: []catalog.Key{refused}}, deleted: true, event: "InsufficientCapacityError", refusedTo: true},
		"class is broken":  {answer: &cloud.ClassNotReadyError{Class: "KWOKNodeClass/default", Reason: "no subnets"}, deleted: true, event: "NodeClaim/c NodeClassNotReady: NodeClaim c is given up: node class KWOKNodeClass/default is not ready: no subnets"},
		"class is pending": {answer: &cloud.ClassNotReadyError{Class: "KWOKNodeClass/default", Reason: "its status is of an earlier spec", Pending: true}, message: "its status is of an earlier spec", again: time.Second},
		"throttled":        {answer: &cloud.ThrottledError{RetryAfter: 7 * time.Second, Err: errors.New("slow down")}, message: "slow down", reason: "RequestLimitExceeded", again: 7 * time.Second},
		"not allowed":      {answer: &cloud.UnauthorizedError{Action: "ec2:CreateFleet", Err: errors.New("denied")}, message: "ec2:CreateFleet", reason: "Unauthorized", again: time.Second},
		"refused":          {answer: &cloud.RefusedError{Reason: "AMINotFound", Err: errors.New("ami-1 is gone")}, message: "ami-1 is gone", reason: "AMINotFound", again: time.Second},
		"broken":           {answer: &cloud.CallError{Action: "ec2:CreateFleet", Reason: "InternalError", Err: errors.New("try later")}, message: "ec2:CreateFleet: try later", reason: "InternalError", again: time.Second},
		"anything else":    {answer: errors.New(strings.Repeat("é", 400)), message: strings.Repeat("é", 400), again: time.Second},
		"a long story":     {answer: errors.New("long" + strings.Repeat(" story", 10_000)), message: "long" + strings.Repeat(" story", 5460) + "…", again: time.Second},
		"one long word":    {answer: errors.New(strings.Repeat("é", 20_000)), message: strings.Repeat("é", 16_382) + "…", again: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := launching(t, test.answer)
			result, err := w.reconcileOnce()
			if (err != nil) != test.err || result.RequeueAfter != test.again {
				t.Errorf("answered %v, %v", result, err)
			}
			if got := w.claim("c").DeletionTimestamp != nil; got != test.deleted {
				t.Errorf("deleted: %v", got)
			}
			if c := w.claim("c").StatusConditions().Get(karpv1.ConditionTypeLaunched); test.message != "" && (c.Reason != cmp.Or(test.reason, "LaunchFailed") || !c.IsUnknown() || !strings.Contains(c.Message, test.message) || len(c.Message) > 32768) {
				t.Errorf("condition %+v", c)
			}
			if got := w.Store.Snapshot(w.Rig.Clock.Now(), nil).Refused(refused); got != test.refusedTo {
				t.Errorf("refused: %v", got)
			}
			if got := strings.Join(w.Events.List, " "); !strings.Contains(got, test.event) {
				t.Errorf("events %s", got)
			}
		})
	}
}

// What the cloud refuses goes on until people mend it. All claims with which it is the same share a
// line of the log, and each is asked for again less and less often, whatever happens to it between.
func TestACauseForWhichLaunchesFailIsLoggedOnceAndTriedLessOften(t *testing.T) {
	for name, answer := range map[string]error{
		"refused": &cloud.RefusedError{Reason: "AMINotFound", Err: errors.New("ami-1 is gone")},
		"denied":  &cloud.UnauthorizedError{Action: "ec2:CreateFleet", Err: errors.New("ami-1 is gone")},
		"broken":  &cloud.CallError{Action: "ec2:CreateFleet", Reason: "InternalError", Err: errors.New("ami-1 is gone")},
	} {
		t.Run(name, func(t *testing.T) {
			w := launching(t, answer)
			w.Must(w.Rig.Client.Create(ctx, w.NewClaim("d")))
			asked, always := 0, w.Cloud.Answer
			w.Cloud.Answer = func(call string) error {
				if call == "launch" {
					asked++
				}
				return always(call)
			}
			var lines []string
			listening := log.IntoContext(ctx, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
			r := lifecycle.New(w.Deps)
			var pauses []string
			for range 7 {
				result := reconcile.Result{}
				for range 3 { // as when its condition changes
					for _, claim := range []string{"c", "d"} {
						var err error
						result, err = r.Reconcile(listening, reconcile.Request{NamespacedName: client.ObjectKey{Name: claim}})
						w.Must(err)
					}
				}
				pauses = append(pauses, result.RequeueAfter.String())
				w.Rig.Clock.Step(result.RequeueAfter)
			}
			if got := strings.Join(pauses, " "); got != "1s 2s 4s 8s 16s 30s 30s" {
				t.Errorf("tried again after %s", got)
			}
			if asked != 2*7 {
				t.Errorf("the cloud was asked %d times", asked)
			}
			if said := strings.Join(lines, "\n"); strings.Count(said, "ami-1 is gone") != 1 {
				t.Errorf("logged\n%s", said)
			}
		})
	}
}

// Throttling is no refusal, so that the time in which the cloud is asked too often does not count.
func TestTheLaunchTimeoutDoesNotCountThrottling(t *testing.T) {
	for name, test := range map[string]struct {
		throttled func(minute int) bool
		givenUp   int
	}{
		"eight minutes at first": {func(minute int) bool { return minute < 8 }, 13},
		"every second minute":    {func(minute int) bool { return minute%2 == 0 }, 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := launching(t, nil)
			minute := 0
			w.Cloud.Answer = func(string) error {
				if test.throttled(minute) {
					return &cloud.ThrottledError{RetryAfter: time.Minute, Err: errors.New("slow down")}
				}
				return errors.New("try later")
			}
			r := lifecycle.New(w.Deps)
			for ; minute < 15; minute++ {
				_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
				w.Must(err)
				if gone := w.claim("c").DeletionTimestamp != nil; gone != (minute >= test.givenUp) {
					t.Errorf("after %d minutes it is given up: %t", minute, gone)
				}
				w.Rig.Clock.Step(time.Minute)
			}
		})
	}
}

// dear is a cloud that could not deliver what was asked for first.
type dear struct{ cloud.Provider }

func (d dear) Launch(ctx context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	i, err := d.Provider.Launch(ctx, req)
	i.Lacked = "SpotQuotaExceeded: no more spot"
	return i, err
}

func TestAMachineThatTakesThePlaceOfAnotherSaysWhy(t *testing.T) {
	w := launching(t, nil)
	w.Provider = dear{w.Provider}
	_, err := w.reconcileOnce()
	w.Must(err)
	if got := strings.Join(w.Events.List, " "); !strings.Contains(got, "NodeClaim/c LaunchLimited: ") || !strings.Contains(got, "SpotQuotaExceeded: no more spot") {
		t.Errorf("events %s", got)
	}
}

// slow is a cloud whose launches go on until the test ends.
type slow struct {
	cloud.Provider
	began, end chan struct{}
}

func (s slow) Launch(context.Context, cloud.LaunchRequest) (cloud.Instance, error) {
	s.began <- struct{}{}
	<-s.end
	return cloud.Instance{}, errors.New("the test is over")
}

// A cloud that limits the rate of launches keeps them waiting for minutes.
func TestLaunchesThatGoOnLeaveWorkersToServeOtherClaims(t *testing.T) {
	const launches, workers = 100, 200
	w := newWorld(t)
	for i := range workers {
		w.Must(w.Rig.Client.Create(ctx, w.NewClaim(fmt.Sprint("c", i))))
	}
	there := w.NewClaim("there")
	w.Must(w.Rig.Client.Create(ctx, there))
	there.Status.ProviderID = "kwok://there"
	there.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	w.Must(w.Rig.Client.Status().Update(ctx, there))
	deps, s := w.Deps, slow{w.Deps.Provider, make(chan struct{}, workers), make(chan struct{})}
	deps.Provider = s
	r := lifecycle.New(deps)
	answers := make(chan reconcile.Result, workers)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			result, _ := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: fmt.Sprint("c", i)}})
			answers <- result
		})
	}
	for range launches {
		<-s.began
	}
	for range workers - launches {
		if result := <-answers; result.RequeueAfter == 0 {
			t.Error("a claim that finds no launch free does not ask again")
		}
	}
	_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(there)})
	w.Must(err)
	if w.Rig.Get(there); len(there.Finalizers) == 0 {
		t.Error("the claim of a machine that is there is not served")
	}
	close(s.end)
	all.Wait()
	if more := len(s.began); more > 0 {
		t.Errorf("%d launches more than %d", more, launches)
	}
}

func TestAClaimThatNothingOnOfferSatisfiesIsGivenUpAloud(t *testing.T) {
	w := launching(t, nil)
	w.Offered = nil
	_, err := w.reconcileOnce()
	w.Must(err)
	if got := strings.Join(w.Events.List, " "); w.claim("c").DeletionTimestamp == nil || !strings.Contains(got, "InsufficientCapacityError: NodeClaim c is given up: no available instance type") {
		t.Errorf("deleted %v, events %s", w.claim("c").DeletionTimestamp, got)
	}
}

func TestALaunchThatKeepsFailingIsGivenUpAfterFiveMinutes(t *testing.T) {
	w := launching(t, errors.New("broken"))
	w.Cloud.Answer = func(string) error { return errors.New("broken") } // the list of types as well
	if result, err := w.reconcileOnce(); err != nil || result.RequeueAfter != time.Second {
		t.Fatalf("it is tried again in %v, error %v", result.RequeueAfter, err)
	}
	w.Rig.Clock.Step(5 * time.Minute)
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	if w.claim("c").DeletionTimestamp == nil {
		t.Error("the claim is still wanted")
	}
}

func TestALaunchCarriesWhatTheNodeMustHave(t *testing.T) {
	w := newWorld(t)
	c := startupClaim(w, "c")
	c.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}}}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	w.Must(w.Rig.Client.Create(ctx, c))
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	got := w.Cloud.Ledger[0].Request
	var taints []string
	for _, x := range got.Taints {
		taints = append(taints, x.ToString())
	}
	if want := []string{"karpenter.sh/unregistered:NoExecute", "dedicated:NoSchedule", "cni:NoExecute"}; !slices.Equal(taints, want) {
		t.Errorf("taints %v", taints)
	}
	if got.Token != "uid-c" || got.Pool != "default" || got.Labels["karpenter.kwok.sh/kwoknodeclass"] != "default" || got.Labels["kubernetes.io/arch"] != "amd64" {
		t.Errorf("request %+v", got)
	}
	claim := w.claim("c")
	if claim.Labels["node.kubernetes.io/instance-type"] != "m" || claim.Labels["karpenter.sh/capacity-type"] != "spot" || claim.Status.ImageID != "image-1" || claim.Status.Allocatable.Cpu().String() != "2" {
		t.Errorf("claim %v %+v", claim.Labels, claim.Status)
	}
}

func TestATaintThatIsRemovedAtTheLastMomentDoesNotComeBack(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	node := w.Join(w.Cloud.Ledger[0], "n")
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule})
	w.Must(w.Rig.Client.Update(ctx, node))
	raced := false
	w.API.Before = func(verb string, o client.Object) error {
		if _, ok := o.(*corev1.Node); ok && !raced {
			raced = true // the cloud controller is faster than our patch
			node.Spec.Taints = node.Spec.Taints[:len(node.Spec.Taints)-1]
			w.Must(w.Rig.Client.Update(ctx, node))
		}
		return nil
	}
	for range 4 {
		if _, err := w.reconcileOnce(); err != nil {
			t.Fatal(err)
		}
	}
	w.Get(node)
	if !raced || len(node.Spec.Taints) != 0 || !w.initialized("c")() {
		t.Errorf("taints %v, initialized %v", node.Spec.Taints, w.initialized("c")())
	}
}

func TestAClaimWhoseNodeMayNotBeChangedSaysSo(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	for range 2 { // it is launched, and its Node is not there yet
		if _, err := w.reconcileOnce(); err != nil {
			t.Fatal(err)
		}
	}
	w.Join(w.Cloud.Ledger[0], "n")
	w.API.Before = func(_ string, o client.Object) error {
		if _, node := o.(*corev1.Node); node {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("a policy says no"))
		}
		return nil
	}
	if _, err := w.reconcileOnce(); err == nil {
		t.Error("no error")
	}
	if c := w.claim("c").StatusConditions().Get(karpv1.ConditionTypeRegistered); !c.IsUnknown() || c.Reason != "RegistrationPending" || !strings.Contains(c.Message, "a policy says no") {
		t.Errorf("Registered: %+v", c)
	}
}

// The Node is labelled first. What its agents have to say still counts when the write
// to the claim fails then.
func TestAClaimWhoseLastWriteFailsIsInitializedTheNextTime(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	w.Must(w.Rig.Client.Create(ctx, &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePolicySpec{
		NodePools:      v1alpha1.PoolSelector{Names: []string{"default"}},
		Initialization: &v1alpha1.Initialization{CSIDrivers: []string{"ebs.csi.aws.com"}},
	}}))
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	limit := int32(10)
	w.Must(w.Rig.Client.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "n", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}},
	}}))
	w.Sync()
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	node := w.Join(w.Cloud.Ledger[0], "n")
	failed := false
	w.API.Before = func(_ string, o client.Object) error {
		w.Get(node)
		if _, ok := o.(*karpv1.NodeClaim); ok && !failed && node.Labels["karpenter.sh/initialized"] == "true" {
			failed = true
			return errors.New("somebody else was faster")
		}
		return nil
	}
	for range 6 {
		w.Sync()
		if _, err := w.reconcileOnce(); err != nil && !failed {
			t.Fatal(err)
		}
	}
	if !failed || !w.initialized("c")() {
		t.Errorf("the write failed: %v, initialized: %v, conditions %+v", failed, w.initialized("c")(), w.claim("c").Status.Conditions)
	}
}

func TestAClaimThatIsGivenUpForWantOfAResourceNamesIt(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	w.Must(w.Rig.Client.Create(ctx, &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePolicySpec{
		NodePools:      v1alpha1.PoolSelector{Names: []string{"default"}},
		Initialization: &v1alpha1.Initialization{Timeout: "1m", OnTimeout: v1alpha1.Replace},
	}}))
	c := w.NewClaim("c")
	c.Spec.Resources.Requests = corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	w.Offered[0].Capacity["example.com/gpu"] = resource.MustParse("1")
	w.Must(w.Rig.Client.Create(ctx, c))
	joined := false
	for range 5 {
		w.Sync()
		if _, err := w.reconcileOnce(); err != nil {
			t.Fatal(err)
		}
		if !joined {
			node := w.Join(w.Cloud.Ledger[0], "n")
			delete(node.Status.Allocatable, "example.com/gpu")
			w.Must(w.Rig.Client.Status().Update(ctx, node))
			joined = true
		}
	}
	w.Rig.Clock.Step(2 * time.Minute)
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	if c := w.claim("c"); c.DeletionTimestamp == nil || c.Annotations["millwright.dev/given-up"] != "initialization_timeout" || c.Annotations["millwright.dev/lacked-resource"] != "example.com/gpu" {
		t.Errorf("deleted %v, annotations %v, conditions %v", c.DeletionTimestamp, c.Annotations, c.Status.Conditions)
	}
}

// The cloud was told to reboot the Node, by Karpenter or by us.
func TestANodeThatHasRebootedTakesPodsAgain(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	var node *corev1.Node
	for node == nil || !w.initialized("c")() {
		if _, err := w.reconcileOnce(); err != nil {
			t.Fatal(err)
		}
		if node == nil {
			node = w.Join(w.Cloud.Ledger[0], "n")
		}
	}
	w.Get(node)
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "karpenter.sh/rebooting", Effect: corev1.TaintEffectNoSchedule})
	w.Must(w.Rig.Client.Update(ctx, node))
	claim := w.claim("c")
	claim.Annotations = map[string]string{"karpenter.sh/reboot-pre-boot-id": "before"}
	w.Must(w.Rig.Client.Update(ctx, claim))
	claim.StatusConditions().SetTrueWithReason("Rebooting", "RebootIssued", "BadNode")
	w.Must(w.Rig.Client.Status().Update(ctx, claim))
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	w.Get(node)
	claim = w.claim("c")
	_, annotated := claim.Annotations["karpenter.sh/reboot-pre-boot-id"]
	if c := claim.StatusConditions().Get("Rebooting"); len(node.Spec.Taints) > 0 || annotated || !c.IsFalse() || !w.initialized("c")() {
		t.Errorf("taints %v, annotations %v, condition %+v", node.Spec.Taints, claim.Annotations, c)
	}
}

func TestAClaimOfAnotherProvidersClassIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	c := w.NewClaim("c")
	c.Spec.NodeClassRef.Kind = "EC2NodeClass"
	w.Must(w.Rig.Client.Create(ctx, c))
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	if w.API.Writes != 0 {
		t.Errorf("%d writes", w.API.Writes)
	}
}

func TestANodeThatJoinedWithoutTheTaintIsReported(t *testing.T) {
	w := newWorld(t)
	w.Must(w.Rig.Client.Create(ctx, w.NewClaim("c")))
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	w.Cloud.Ledger[0].Request.Taints = nil
	w.Join(w.Cloud.Ledger[0], "n")
	if _, err := w.reconcileOnce(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(w.Events.List, func(e string) bool { return strings.HasPrefix(e, "NodeClaim/c UnregisteredTaintMissing") }) {
		t.Errorf("events %v", w.Events.List)
	}
}
