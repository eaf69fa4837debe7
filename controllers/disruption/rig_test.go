package disruption

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/eviction"
)

var ctx = context.Background()

func pool(change func(*karpv1.NodePool)) *karpv1.NodePool {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool"}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	np.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("30s")
	np.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "100%"}}
	np.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue}}
	if change != nil {
		change(np)
	}
	return np
}

// machine is a claim and its node, initialized ten minutes ago.
func machine(name string) (*karpv1.NodeClaim, *corev1.Node) {
	long := metav1.NewTime(looptest.Noon.Add(-10 * time.Minute))
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "claim-" + name, UID: types.UID("claim-" + name), Finalizers: []string{karpv1.TerminationFinalizer},
		Labels: map[string]string{karpv1.NodePoolLabelKey: "general"},
	}}
	claim.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	claim.Status.ProviderID, claim.Status.NodeName = "kwok://"+name, name
	for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: t, Status: metav1.ConditionTrue, LastTransitionTime: long})
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("node-" + name),
		Labels: map[string]string{
			karpv1.NodePoolLabelKey: "general", karpv1.NodeRegisteredLabelKey: "true", karpv1.NodeInitializedLabelKey: "true",
			karpv1.CapacityTypeLabelKey: "spot",
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: claim.Name, UID: claim.UID}},
	}}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return claim, node
}

func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// guardedOn is a pod that may not be disrupted.
func guardedOn(node string) *corev1.Pod {
	p := podOn(node, "guarded")
	p.Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	return p
}

func rig(t *testing.T, objects ...client.Object) *looptest.Rig { return looptest.New(t, objects...) }

// pass makes one pass as a process that has just read everything.
func pass(t *testing.T, r *looptest.Rig, d *Disruptor) time.Duration {
	t.Helper()
	r.Sync()
	wait, err := d.Pass(ctx)
	r.Must(err)
	return wait
}

// state is what marks a machine carries: taint, reason, deleted.
func state(r *looptest.Rig, name string) string {
	claim, node := machine(name)
	var marks []string
	if r.Get(node) && eviction.Marked(node) {
		marks = append(marks, "taint")
	}
	if !r.Get(claim) {
		return "gone"
	}
	if c := claim.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason); c != nil {
		marks = append(marks, c.Reason)
	}
	if claim.DeletionTimestamp != nil {
		marks = append(marks, "deleted")
	}
	return strings.Join(marks, " ")
}

func published(r *looptest.Rig, event string) bool {
	return slices.ContainsFunc(r.Events.List, func(e string) bool { return strings.Contains(e, event) })
}
