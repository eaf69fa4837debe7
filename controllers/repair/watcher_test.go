package repair_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/repair"
	"github.com/millwright-dev/millwright/engine/disruption"
	engine "github.com/millwright-dev/millwright/engine/repair"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var ctx = context.Background()

// world is a pool of five machines; those whose NetworkingReady is False for ten
// minutes are broken.
type world struct {
	*testing.T
	*looptest.Rig
	gate bool
}

// newWorld has no policy if the section is nil.
func newWorld(t *testing.T, section *v1alpha1.Repair) *world {
	class := &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool"}}
	np.Spec.Template.Spec.NodeClassRef = class
	objects := []client.Object{np}
	if section != nil {
		policy := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
		policy.Spec.NodePools.Names = []string{"general"}
		policy.Spec.Repair = section
		section.Conditions = []v1alpha1.RepairCondition{{Type: "NetworkingReady", Status: "False", Toleration: &metav1.Duration{Duration: 10 * time.Minute}}}
		objects = append(objects, policy)
	}
	for i := range 5 {
		name := fmt.Sprint("n", i)
		labels := map[string]string{
			karpv1.NodePoolLabelKey: "general", karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true", corev1.LabelTopologyZone: "a",
		}
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, Finalizers: []string{karpv1.TerminationFinalizer}}}
		claim.Spec.NodeClassRef = class
		claim.Status.ProviderID, claim.Status.NodeName = "kwok://"+name, name
		claim.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: labels}}
		node.Spec.ProviderID = "kwok://" + name
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		objects = append(objects, claim, node)
	}
	return &world{T: t, Rig: looptest.New(t, objects...)}
}

// network sets the condition of machines.
func (w *world) network(s corev1.ConditionStatus, names ...string) {
	w.Helper()
	for _, name := range names {
		node := &corev1.Node{}
		w.Must(w.Client.Get(ctx, client.ObjectKey{Name: name}, node))
		node.Status.Conditions = append(node.Status.Conditions[:1], corev1.NodeCondition{Type: "NetworkingReady", Status: s, LastTransitionTime: metav1.NewTime(w.Clock.Now())})
		w.Must(w.Client.Status().Update(ctx, node))
	}
}

// look makes one look as a process that has just started.
func (w *world) look() {
	w.Helper()
	w.Restart()
	w.again()
}

// again makes one as the same process.
func (w *world) again() {
	w.Helper()
	w.Settings.NodeRepair = w.gate
	w.Must(repair.New(w.Deps).Look(ctx))
}

func (w *world) claim(name string) *karpv1.NodeClaim {
	w.Helper()
	c := &karpv1.NodeClaim{}
	w.Must(w.Client.Get(ctx, client.ObjectKey{Name: name}, c))
	return c
}

// unhealthy is the condition of a claim: its status, reason and message.
func (w *world) unhealthy(name string) string {
	c := w.claim(name).StatusConditions().Get(engine.Unhealthy)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *world) said(reason string) bool { return strings.Contains(fmt.Sprint(w.Events.List), reason) }

func TestAMachineIsTerminatedAtOnceWhenItsToleranceIsOver(t *testing.T) {
	w := newWorld(t, &v1alpha1.Repair{})
	w.network(corev1.ConditionFalse, "n1")
	w.Clock.Step(9 * time.Minute)
	w.look()
	if w.claim("n1").DeletionTimestamp != nil || w.said("Node") {
		t.Fatalf("it went early, or somebody was told: %v", w.Events.List)
	}
	if got := w.unhealthy("n1"); !strings.HasPrefix(got, "True FindingTolerated: NetworkingReady=False since 2026-03-11T12:00:00Z; Terminate at 2026-03-11T12:10:00Z") {
		t.Errorf("got %s", got)
	}
	w.Clock.Step(time.Minute)
	w.look()
	c := w.claim("n1")
	if c.DeletionTimestamp == nil || c.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey] != "2026-03-11T12:10:00Z" {
		t.Errorf("got %v, %v", c.DeletionTimestamp, c.Annotations)
	}
	if !w.said("NodeUnhealthy") {
		t.Errorf("nobody was told: %v", w.Events.List)
	}
}

func TestWithoutAPolicyAndWithoutTheGateNothingIsTouched(t *testing.T) {
	for _, gate := range []bool{false, true} {
		w := newWorld(t, nil)
		w.gate = gate
		w.network(corev1.ConditionFalse, "n1")
		w.Clock.Step(time.Hour)
		before := w.claim("n1").ResourceVersion
		w.look()
		if got := w.claim("n1").ResourceVersion; got != before { // this cloud has no repair policies
			t.Errorf("gate %t: the claim was written to", gate)
		}
	}
}

func TestAReplacementIsAskedForAndTakenBackWhenTheMachineRecovers(t *testing.T) {
	w := newWorld(t, &v1alpha1.Repair{Action: "Replace"})
	w.network(corev1.ConditionFalse, "n1")
	w.Clock.Step(10 * time.Minute)
	w.look()
	r := disruption.Requested(&snapshot.Claim{Annotations: w.claim("n1").Annotations})
	if r.Cause != disruption.Unhealthy || r.Why != "NetworkingReady=False" || w.claim("n1").DeletionTimestamp != nil {
		t.Fatalf("got %+v", r)
	}
	w.network(corev1.ConditionTrue, "n1")
	w.look()
	if got := w.claim("n1").Annotations[disruption.RequestAnnotation]; got != "" {
		t.Errorf("the request is still there: %s", got)
	}
	if got := w.unhealthy("n1"); got != "False Healthy: nothing is wrong any more" {
		t.Errorf("got %s", got)
	}
}

func TestTheDrainOfAMachineThatHasBeenReplacedEnds(t *testing.T) {
	w := newWorld(t, &v1alpha1.Repair{Action: "Replace", DrainTimeout: &metav1.Duration{Duration: 3 * time.Minute}})
	w.network(corev1.ConditionFalse, "n1")
	w.Clock.Step(10 * time.Minute)
	w.look()
	w.Must(w.Client.Delete(ctx, w.claim("n1")))
	w.look()
	c := w.claim("n1")
	if got, want := c.Annotations[karpv1.NodeClaimTerminationTimestampAnnotationKey], c.DeletionTimestamp.Add(3*time.Minute).UTC().Format(time.RFC3339); got != want {
		t.Errorf("deadline %s, want %s", got, want)
	}
}

func TestTheBreakerSaysSoOnThePoolUntilItCloses(t *testing.T) {
	w := newWorld(t, &v1alpha1.Repair{})
	w.network(corev1.ConditionFalse, "n1", "n2")
	w.Clock.Step(10 * time.Minute)
	w.look()
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
	w.Get(np)
	c := np.StatusConditions().Get("RepairBlocked")
	if c == nil || !c.IsTrue() || c.Message != "no node of nodepool/general is repaired while more than 20% are unhealthy: 2 of 5 are" {
		t.Errorf("got %v", c)
	}
	if w.claim("n1").DeletionTimestamp != nil || w.claim("n2").DeletionTimestamp != nil || !w.said("NodeRepairBlocked") {
		t.Errorf("a machine went, or nobody was told: %v", w.Events.List)
	}
	w.network(corev1.ConditionTrue, "n2")
	w.look()
	w.Get(np)
	if c := np.StatusConditions().Get("RepairBlocked"); c != nil || w.claim("n1").DeletionTimestamp == nil {
		t.Errorf("got %v, and n1 is still there", c)
	}
}

func TestTheLastLookIsAtTheNodeItself(t *testing.T) {
	w := newWorld(t, &v1alpha1.Repair{})
	w.network(corev1.ConditionFalse, "n1")
	w.Clock.Step(10 * time.Minute)
	w.Restart()
	w.network(corev1.ConditionTrue, "n1") // which the store does not know yet
	w.again()
	if w.claim("n1").DeletionTimestamp != nil {
		t.Error("a machine that had recovered went")
	}
}

func TestSinceWhenAnAgentCrashesIsNotedAndForgotten(t *testing.T) {
	w := newWorld(t, &v1alpha1.Repair{Agents: []v1alpha1.RepairAgent{{
		DaemonSetSelector: v1alpha1.DaemonSetSelector{Namespace: "kube-system", Name: "cni"}, Toleration: &metav1.Duration{Duration: 15 * time.Minute},
	}}})
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: "cni-1", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "cni", Controller: &yes}},
	}}
	pod.Spec.NodeName = "n1"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
	w.Must(w.Client.Create(ctx, pod))
	look := func() {
		w.Restart()
		w.Store.Update(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cni"}})
		w.again()
	}
	look()
	if got := w.claim("n1").Annotations[engine.SinceAnnotation]; got != `{"daemonset/cni -n kube-system":"2026-03-11T12:00:00Z"}` {
		t.Fatalf("noted %q", got)
	}
	w.Clock.Step(14 * time.Minute)
	look()
	if got := w.unhealthy("n1"); !strings.Contains(got, "agent kube-system/cni-1 keeps crashing (4 restarts) since 2026-03-11T12:00:00Z; Terminate at 2026-03-11T12:15:00Z") {
		t.Errorf("got %s", got)
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(looptest.Noon)}}
	w.Must(w.Client.Status().Update(ctx, pod))
	look()
	if got := w.claim("n1"); got.Annotations[engine.SinceAnnotation] != "" || got.DeletionTimestamp != nil {
		t.Errorf("got %v", got.Annotations)
	}
}
