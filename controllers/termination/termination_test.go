package termination_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/termination"
	engine "github.com/millwright-dev/millwright/engine/lifecycle"
)

var ctx = context.Background()

// rig has one machine: claim c, Node n, taken over and initialized.
type rig struct {
	*looptest.Rig
	t     *testing.T
	nodes *termination.Reconciler
}

func newRig(t *testing.T, change func(*karpv1.NodeClaim)) *rig {
	r := &rig{Rig: looptest.New(t), t: t}
	r.machine("c", "test://1", "n", change)
	return r
}

// machine launches one for a claim, and its Node joins.
func (r *rig) machine(claim, id, node string, change func(*karpv1.NodeClaim)) {
	c := r.NewClaim(claim)
	c.Finalizers = []string{engine.Finalizer}
	if change != nil {
		change(c)
	}
	r.Must(r.Rig.Client.Create(ctx, c))
	m := &looptest.Machine{Instance: cloud.Instance{ProviderID: id, Token: string(c.UID), Claim: claim, State: cloud.Running, Launched: looptest.Noon}}
	r.Cloud.Ledger = append(r.Cloud.Ledger, m)
	c.Status.ProviderID, c.Status.NodeName = m.ProviderID, node
	for _, condition := range []string{"Launched", "Registered", "Initialized"} {
		c.StatusConditions().SetTrue(condition)
	}
	r.Must(r.Rig.Client.Status().Update(ctx, c))
	n := r.Join(m, node)
	n.Finalizers = []string{engine.Finalizer}
	n.Labels["karpenter.kwok.sh/kwoknodeclass"] = "default"
	r.Must(r.Rig.Client.Update(ctx, n))
	r.Sync()
}

func (r *rig) node() *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if !r.Get(n) {
		return nil
	}
	return n
}

func (r *rig) claim() *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	if !r.Get(c) {
		return nil
	}
	return c
}

func (r *rig) pod(name string, change func(*corev1.Pod)) {
	grace := int64(30)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "n", TerminationGracePeriodSeconds: &grace},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if change != nil {
		change(p)
	}
	r.Must(r.Rig.Client.Create(ctx, p))
	r.Sync()
}

func (r *rig) pods() []string {
	var list corev1.PodList
	r.Must(r.Rig.Client.List(ctx, &list))
	var out []string
	for _, p := range list.Items {
		out = append(out, p.Name)
	}
	return out
}

// step reconciles Node and claim once, a second later, and fails on an error.
func (r *rig) step() {
	r.t.Helper()
	r.Must(r.try())
}

func (r *rig) try() error {
	r.t.Helper()
	r.Rig.Clock.Step(time.Second)
	r.Sync()
	if r.nodes == nil {
		r.nodes = termination.New(r.Deps)
	}
	_, one := r.nodes.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	_, two := lifecycle.New(r.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
	return errors.Join(one, two)
}

func (r *rig) event(prefix string) bool {
	return slices.ContainsFunc(r.Events.List, func(e string) bool { return strings.HasPrefix(e, prefix) })
}

func TestTheTaintAndTheLabelComeBeforeTheFirstEviction(t *testing.T) {
	r := newRig(t, nil)
	r.pod("web", nil)
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	var verbs []string
	r.API.Before = func(verb string, o client.Object) error {
		if _, ok := o.(*karpv1.NodeClaim); !ok {
			verbs = append(verbs, verb)
		}
		return nil
	}
	r.step() // deletes the claim
	r.step()
	if !slices.Equal(verbs, []string{"patch", "evict"}) {
		t.Errorf("writes %v", verbs)
	}
	n := r.node()
	if !slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool { return x.Key == "karpenter.sh/disrupted" }) || n.Labels[corev1.LabelNodeExcludeBalancers] != "karpenter" {
		t.Errorf("taints %v, labels %v", n.Spec.Taints, n.Labels)
	}
	if !r.event("Pod/web Evicted: Evicted pod: Forceful Termination") {
		t.Errorf("events %v", r.Events.List)
	}
	if r.claim().DeletionTimestamp == nil {
		t.Error("the claim of a Node that goes is still wanted")
	}
}

func TestAClaimIsNotWrittenToInTheStateBeforeItsDeletion(t *testing.T) {
	r := newRig(t, nil)
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	var verbs []string
	r.API.Before = func(verb string, o client.Object) error {
		if _, ok := o.(*karpv1.NodeClaim); ok {
			verbs = append(verbs, verb)
		}
		return nil
	}
	result, err := termination.New(r.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	r.Must(err)
	if !slices.Equal(verbs, []string{"delete"}) || result.RequeueAfter == 0 {
		t.Errorf("writes %v, again after %v", verbs, result.RequeueAfter)
	}
}

func TestAPodThatABudgetGuardsStaysUntilTheDeadline(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 2 * time.Minute}
	})
	r.pod("web", nil)
	r.Must(r.Rig.Client.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}))
	asked := map[string]int{}
	r.API.Before = func(verb string, o client.Object) error {
		if o.GetName() == "web" {
			asked[verb]++
		}
		return nil
	}
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	r.step() // the claim gets its deadline, the Node is deleted
	deadline, err := time.Parse(time.RFC3339, r.claim().Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey])
	r.Must(err)
	if want := r.claim().DeletionTimestamp.Add(2 * time.Minute); !deadline.Equal(want) {
		t.Errorf("deadline %v, want %v", deadline, want)
	}
	r.step()
	if len(asked) != 0 || !r.event("Node/n FailedDraining: 1 pod is waiting to be evicted") {
		t.Errorf("asked %v, events %v", asked, r.Events.List)
	}
	// The fake API server stamps deletions with the real time.
	r.Rig.Clock.SetTime(deadline.Add(-29 * time.Second))
	r.step()
	if asked["evict"] != 0 || asked["delete"] != 1 || !r.event("Pod/web Disrupted") {
		t.Errorf("asked %v, events %v", asked, r.Events.List)
	}
}

func TestAnEvictionThatTheServerRefusesDoesNotHoldUpTheOthers(t *testing.T) {
	r := newRig(t, nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		r.pod(name, nil)
	}
	r.API.Before = func(verb string, o client.Object) error {
		switch {
		case verb == "evict" && o.GetName() == "a":
			return tooMany()
		case verb == "evict" && o.GetName() == "b":
			return severalBudgets()
		case verb == "evict" && o.GetName() == "c":
			return errors.New("connection reset")
		}
		return nil
	}
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	r.step() // deletes the claim
	if err := r.try(); err == nil || !strings.Contains(err.Error(), "connection reset") {
		t.Errorf("error %v", err)
	}
	if got := r.pods(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("left: %v", got)
	}
	if !r.event("Node/n FailedDraining") {
		t.Errorf("events %v", r.Events.List)
	}
}

func TestAnEvictionThatIsForbiddenIsNamedAndAskedForAgain(t *testing.T) {
	r := newRig(t, nil)
	r.pod("a", nil)
	r.API.Before = forbid("evict")
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 3 {
		r.step() // an error would be a line in the log each time
	}
	c := r.claim().StatusConditions().Get(karpv1.ConditionTypeDrained)
	if c == nil || !strings.Contains(c.Message, "pod/a -n default") || !strings.Contains(c.Message, "no such right") {
		t.Errorf("condition %+v", c)
	}
	if !r.event("NodeClaim/c FailedDraining: 1 pod is waiting to be evicted; the API server refuses to evict pod/a -n default") {
		t.Errorf("events %v", r.Events.List)
	}
	r.API.Before = nil
	r.step()
	if got := r.pods(); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// forbid refuses a verb on pods for want of rights.
func forbid(what string) func(verb string, o client.Object) error {
	return func(verb string, o client.Object) error {
		if _, pod := o.(*corev1.Pod); pod && verb == what {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("no such right"))
		}
		return nil
	}
}

func TestADeletionThatIsForbiddenAtTheDeadlineIsNamedAndAskedForAgain(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Second}
	})
	r.pod("a", nil)
	r.API.Before = forbid("delete")
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	r.step()
	r.Rig.Clock.SetTime(r.claim().DeletionTimestamp.Add(time.Minute)) // the fake API server stamps deletions with the real time
	for range 3 {
		r.step() // an error would be a line in the log each time
	}
	c := r.claim().StatusConditions().Get(karpv1.ConditionTypeDrained)
	if c == nil || !strings.Contains(c.Message, "pod/a -n default") || !strings.Contains(c.Message, "no such right") {
		t.Errorf("condition %+v", c)
	}
	if !r.event("Pod/a WriteRefused: the API server refuses to delete this Pod") {
		t.Errorf("events %v", r.Events.List)
	}
}

func TestThePodsOfAnotherNodeOfTheInstanceLeaveBeforeItEnds(t *testing.T) {
	r := newRig(t, nil)
	other := r.Join(r.Cloud.Ledger[0], "m")
	r.pod("web", func(p *corev1.Pod) { p.Spec.NodeName = "m" })
	held := true
	r.API.Before = func(verb string, _ client.Object) error {
		if verb == "evict" && held {
			return tooMany()
		}
		return nil
	}
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	for range 10 {
		r.step()
	}
	if r.Get(other); len(r.Cloud.Alive()) != 1 || !slices.ContainsFunc(other.Spec.Taints, func(x corev1.Taint) bool { return x.Key == "karpenter.sh/disrupted" }) {
		t.Fatalf("alive %v, taints %v", r.Cloud.Alive(), other.Spec.Taints)
	}
	held = false
	for range 10 {
		r.step()
		r.Cloud.Step()
	}
	if pods := r.pods(); len(pods) > 0 || len(r.Cloud.Alive()) > 0 || r.claim() != nil {
		t.Errorf("pods %v, alive %v, claim %v", pods, r.Cloud.Alive(), r.claim())
	}
}

func TestNothingIsStoppedWhileTheAPIServerKnowsMoreThanTheStore(t *testing.T) {
	for name, late := range map[string]func(*rig){
		"a pod": func(r *rig) {
			r.Must(r.Rig.Client.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}, Spec: corev1.PodSpec{NodeName: "n"}}))
		},
		"a volume": func(r *rig) {
			pv := "pv"
			a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n"}}
			a.Spec.Source.PersistentVolumeName = &pv
			r.Must(r.Rig.Client.Create(ctx, a))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.Must(r.Rig.Client.Delete(ctx, r.node()))
			r.step()
			r.Rig.Clock.Step(10 * time.Second)
			r.Sync()
			late(r)
			_, err := termination.New(r.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
			r.Must(err)
			if r.Cloud.Ledger[0].State != cloud.Running {
				t.Error("the machine was stopped")
			}
		})
	}
}

func TestANodeWithoutAClaimTakesItsMachineAlong(t *testing.T) {
	for name, change := range map[string]func(*corev1.Node){
		"of our class":    func(*corev1.Node) {},
		"without a class": func(n *corev1.Node) { delete(n.Labels, "karpenter.kwok.sh/kwoknodeclass") },
	} {
		t.Run(name, func(t *testing.T) { takesItsMachineAlong(t, change) })
	}
}

func takesItsMachineAlong(t *testing.T, change func(*corev1.Node)) {
	r := newRig(t, nil)
	n := r.node()
	change(n)
	r.Must(r.Rig.Client.Update(ctx, n))
	c := r.claim()
	c.Finalizers = nil
	r.Must(r.Rig.Client.Update(ctx, c))
	r.Delete(r.claim())
	r.pod("web", nil)
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 3 {
		r.step()
	}
	if r.Cloud.Ledger[0].State != cloud.ShuttingDown || r.node() == nil || len(r.pods()) != 0 {
		t.Fatalf("machine %s, node %v, pods %v", r.Cloud.Ledger[0].State, r.node() != nil, r.pods())
	}
	r.Cloud.Step()
	r.step()
	if r.node() != nil {
		t.Error("the Node is still there")
	}
}

func (r *rig) silence() {
	n := r.node()
	n.Status.Conditions[0].Status = corev1.ConditionUnknown
	r.Must(r.Rig.Client.Status().Update(ctx, n))
}

func (r *rig) outOfService() bool {
	n := r.node()
	return n != nil && slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool { return x.Key == corev1.TaintNodeOutOfService })
}

func TestANodeWhoseMachineIsGoneIsReleasedInsteadOfDrained(t *testing.T) {
	r := newRig(t, nil)
	r.pod("web", nil)
	r.attach("data")
	r.Cloud.Ledger[0].Gone = true
	r.silence()
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	var verbs []string
	r.API.Before = func(verb string, o client.Object) error {
		if _, ok := o.(*corev1.Pod); ok {
			verbs = append(verbs, verb)
		}
		return nil
	}
	for range 3 {
		r.step()
	}
	if !r.outOfService() || len(verbs) != 0 {
		t.Fatalf("out of service %v, pods got %v", r.outOfService(), verbs)
	}
	r.detach("data") // what Kubernetes does on seeing the taint
	r.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	r.step()
	r.step()
	if r.node() != nil || r.claim() != nil {
		t.Errorf("node %v, claim %v", r.node() != nil, r.claim() != nil)
	}
}

func TestANodeIsNotMarkedOutOfServiceWhileItsMachineMayRun(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"the cloud knows it as running":       func(*rig) {},
		"it is shutting down":                 func(r *rig) { r.Cloud.Ledger[0].State = cloud.ShuttingDown },
		"the cloud does not answer":           func(r *rig) { r.Cloud.Answer = func(string) error { return errors.New("timeout") } },
		"it is gone and the kubelet is Ready": func(r *rig) { r.Cloud.Ledger[0].Gone = true; r.wake() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pod("web", nil)
			r.attach("data")
			r.silence()
			change(r)
			r.Must(r.Rig.Client.Delete(ctx, r.node()))
			for range 5 {
				_ = r.try() // it may well fail
			}
			if r.outOfService() {
				t.Error("the Node is marked")
			}
		})
	}
}

func (r *rig) wake() {
	n := r.node()
	n.Status.Conditions[0].Status = corev1.ConditionTrue
	r.Must(r.Rig.Client.Status().Update(ctx, n))
}

func TestAStoppedMachineIsReleasedAndThenEnded(t *testing.T) {
	r := newRig(t, nil)
	r.attach("data")
	r.Cloud.Ledger[0].State = cloud.Stopped
	r.silence()
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	r.step()
	r.step()
	if !r.outOfService() || r.Cloud.Ledger[0].State != cloud.Stopped {
		t.Fatalf("out of service %v, machine %s", r.outOfService(), r.Cloud.Ledger[0].State)
	}
	r.detach("data")
	r.step()
	if r.Cloud.Ledger[0].State != cloud.ShuttingDown {
		t.Errorf("machine %s", r.Cloud.Ledger[0].State)
	}
}

func TestALeakedAttachmentDoesNotKeepTheNodeOfADeadMachineForEver(t *testing.T) {
	r := newRig(t, nil)
	r.attach("data")
	r.Cloud.Ledger[0].Gone = true
	r.silence()
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	r.step()
	r.step()
	r.Rig.Clock.Step(2 * time.Minute)
	r.step()
	if r.node() != nil || !r.event("Node/n VolumesLeftBehind: left behind: volumeattachment/csi-data") {
		t.Errorf("node %v, events %v", r.node() != nil, r.Events.List)
	}
}

func TestTheNodePolicyOfThePoolDecidesAboutTheMark(t *testing.T) {
	r := newRig(t, nil)
	r.Must(r.Rig.Client.Create(ctx, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	r.Must(r.Rig.Client.Create(ctx, &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePolicySpec{
		NodePools:   v1alpha1.PoolSelector{Names: []string{"default"}},
		Termination: &v1alpha1.Termination{OutOfService: v1alpha1.OutOfServiceNever},
	}}))
	n := r.node()
	n.Labels[karpv1.NodePoolLabelKey] = "default"
	r.Must(r.Rig.Client.Update(ctx, n))
	r.attach("data")
	r.Cloud.Ledger[0].Gone = true
	r.silence()
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	r.step()
	r.step()
	if r.node() != nil {
		t.Errorf("the Node is kept, out of service %v", r.outOfService())
	}
}

func (r *rig) attach(pv string) {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + pv}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "n", Attacher: "ebs.csi.aws.com"}}
	a.Spec.Source.PersistentVolumeName = &pv
	r.Must(r.Rig.Client.Create(ctx, a))
	r.Sync()
}

func (r *rig) detach(pv string) {
	r.Delete(&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + pv}})
}

func TestThePluginOfAVolumeDriverOutlivesItsLastVolumeAndIsReported(t *testing.T) {
	r := newRig(t, nil)
	r.Must(r.Rig.Client.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "n"}},
	}}))
	r.pod("db", nil)
	r.pod("ebs-csi-node-x", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "ebs-csi-node", UID: "uid-ds"}}
		p.Spec.Volumes = []corev1.Volume{
			{Name: "registration", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins_registry"}}},
			{Name: "plugin", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins/ebs.csi.aws.com"}}},
		}
	})
	r.attach("data")
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 20 {
		r.step()
	}
	if got := r.pods(); !slices.Equal(got, []string{"ebs-csi-node-x"}) || r.Cloud.Ledger[0].State != cloud.Running {
		t.Fatalf("pods %v, machine %s", got, r.Cloud.Ledger[0].State)
	}
	if !r.event("DaemonSet/ebs-csi-node MissingToleration") {
		t.Errorf("events %v", r.Events.List)
	}
	r.detach("data")
	r.step()
	if got := r.pods(); !slices.Equal(got, []string{"ebs-csi-node-x"}) || r.Cloud.Ledger[0].State != cloud.ShuttingDown {
		t.Errorf("pods %v, machine %s", got, r.Cloud.Ledger[0].State)
	}
}

func TestAPodThatAFinalizerKeepsIsNamedOnTheClaim(t *testing.T) {
	r := newRig(t, nil)
	r.pod("held", func(p *corev1.Pod) {
		p.Finalizers = []string{"example.com/deregister"}
		p.Status.Phase = corev1.PodSucceeded
	})
	r.Must(r.Rig.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "held"}}))
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 30 {
		r.step()
	}
	c := r.claim().StatusConditions().Get(karpv1.ConditionTypeDrained)
	if r.Cloud.Ledger[0].State != cloud.Running || c == nil || !strings.Contains(c.Message, "pod/held -n default") || !strings.Contains(c.Message, "example.com/deregister") {
		t.Errorf("machine %s, condition %+v", r.Cloud.Ledger[0].State, c)
	}
	if !r.event("NodeClaim/c FailedDraining: 1 pod is waiting to be evicted; pod/held -n default") {
		t.Errorf("events %v", r.Events.List)
	}
}

func TestAThrottledCloudIsAskedAgainWhenItSays(t *testing.T) {
	r := newRig(t, nil)
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	r.step() // deletes the claim
	r.step() // the drain begins
	r.Cloud.Answer = func(string) error {
		return &cloud.ThrottledError{RetryAfter: 7 * time.Second, Err: errors.New("slow down")}
	}
	r.Rig.Clock.Step(10 * time.Second)
	r.Sync()
	result, err := termination.New(r.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	if err != nil || result.RequeueAfter != 7*time.Second {
		t.Errorf("%v, %v", result, err)
	}
}

func TestANodeOfAnotherProviderIsLeftAlone(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Kind = "EC2NodeClass" })
	n := r.node()
	delete(n.Labels, "karpenter.kwok.sh/kwoknodeclass")
	r.Must(r.Rig.Client.Update(ctx, n))
	r.Must(r.Rig.Client.Delete(ctx, n))
	r.API.Writes = 0
	r.step()
	if r.API.Writes != 0 {
		t.Errorf("%d writes", r.API.Writes)
	}
}

// orphan deletes the Node after its claim and the label of its class are gone.
func (r *rig) orphan() {
	c := r.claim()
	c.Finalizers = nil
	r.Must(r.Rig.Client.Update(ctx, c))
	r.Delete(c)
	n := r.node()
	delete(n.Labels, "karpenter.kwok.sh/kwoknodeclass")
	r.Must(r.Rig.Client.Update(ctx, n))
	r.Must(r.Rig.Client.Delete(ctx, n))
}

func TestANodeThatNothingTiesToTheProviderIsLeftAlone(t *testing.T) {
	r := newRig(t, nil)
	r.orphan()
	for name, change := range map[string]func(){
		"a machine of somebody else": func() { r.Cloud.Ledger[0].Token = "" },
		"no machine":                 func() { r.Cloud.Ledger[0].Gone = true },
	} {
		change()
		r.API.Writes = 0
		r.step()
		if r.API.Writes != 0 || r.node() == nil {
			t.Errorf("%s: %d writes, node %v", name, r.API.Writes, r.node() != nil)
		}
	}
}

func TestAClaimWhoseStatusHasLostItsMachineDrainsItAllTheSame(t *testing.T) {
	for name, test := range map[string]func(*rig, *karpv1.NodeClaim){
		"the provider ID": func(_ *rig, c *karpv1.NodeClaim) { c.Status.ProviderID = "" },
		"all of it":       func(_ *rig, c *karpv1.NodeClaim) { c.Status = karpv1.NodeClaimStatus{} },
		"the provider ID; Karpenter had launched it": func(r *rig, c *karpv1.NodeClaim) { c.Status.ProviderID, r.Cloud.Ledger[0].Token = "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.pod("web", nil)
			c := r.claim()
			test(r, c)
			r.Must(r.Rig.Client.Status().Update(ctx, c))
			r.Must(r.Rig.Client.Delete(ctx, c))
			r.Cloud.Terminated = func(*looptest.Machine) {
				if left := r.pods(); len(left) > 0 {
					t.Errorf("the machine ends with pods %v", left)
				}
			}
			for range 30 {
				r.step()
				r.Cloud.Step()
			}
			if r.node() != nil || r.claim() != nil || len(r.Cloud.Alive()) > 0 {
				t.Errorf("left are Node %t, claim %t, %d machines", r.node() != nil, r.claim() != nil, len(r.Cloud.Alive()))
			}
		})
	}
}

func TestADeadlineThatSomebodyBroughtForwardStays(t *testing.T) {
	const soon = "2026-03-11T12:00:30Z"
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
		c.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: soon}
	})
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	r.step()
	if got := r.claim().Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey]; got != soon {
		t.Errorf("deadline %s", got)
	}
}

func TestADeadlineThatCannotBeReadIsAnErrorAndNotADeadline(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Annotations = map[string]string{karpv1.NodeClaimTerminationTimestampAnnotationKey: "tomorrow"}
	})
	r.pod("web", func(p *corev1.Pod) { p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	r.step() // deletes the claim
	if err := r.try(); err == nil || !strings.Contains(err.Error(), "nodeclaim-termination-timestamp") {
		t.Errorf("error %v", err)
	}
	if got := r.pods(); len(got) != 1 {
		t.Errorf("pods %v", got)
	}
	for _, on := range []string{"Node/n", "NodeClaim/c"} {
		if !r.event(on + " FailedDraining: reading annotation karpenter.sh/nodeclaim-termination-timestamp of NodeClaim c") {
			t.Errorf("%s is not told: %v", on, r.Events.List)
		}
	}
}
