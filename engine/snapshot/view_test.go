package snapshot

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)}
}

func startingNode(labels map[string]string, taints ...corev1.Taint) *Node {
	return &Node{
		Name: "n",
		Object: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.NodeSpec{Taints: taints},
			Status:     corev1.NodeStatus{Allocatable: amounts("0", "3Gi")},
		},
		Claim: &Claim{
			Name: "c", Pool: "p", ProviderID: "x", Labels: map[string]string{"from": "claim"},
			Taints:        []corev1.Taint{{Key: "team", Effect: "NoSchedule"}},
			StartupTaints: []corev1.Taint{{Key: "cni", Effect: "NoSchedule"}},
			Allocatable:   amounts("4", "8Gi"), Requests: amounts("1", "1Gi"),
		},
	}
}

func TestUntilRegisteredTheClaimSpeaksForTheNode(t *testing.T) {
	n := startingNode(map[string]string{"from": "node"}, corev1.Taint{Key: "stray", Effect: "NoSchedule"})
	if got := n.Labels()["from"]; got != "claim" {
		t.Errorf("labels are from %s", got)
	}
	if got := fmt.Sprint(n.Taints()); got != fmt.Sprint(n.Claim.Taints) {
		t.Errorf("taints are %s", got)
	}
	n.Object.Labels[RegisteredLabel] = "true"
	if got := n.Labels()["from"]; got != "node" {
		t.Errorf("once registered, labels are from %s", got)
	}
}

func TestUntilInitializedTheClaimFillsInWhatTheNodeDoesNotReport(t *testing.T) {
	n := startingNode(map[string]string{RegisteredLabel: "true"})
	got := n.Allocatable()
	if got.Cpu().String() != "4" || got.Memory().String() != "3Gi" {
		t.Errorf("allocatable is %s cpu, %s memory; want the claim's 4 and the node's 3Gi", got.Cpu(), got.Memory())
	}
	n.Object.Labels[InitializedLabel] = "true"
	got = n.Allocatable()
	if got.Cpu().String() != "0" {
		t.Errorf("once initialized, allocatable is %s cpu, want the node's 0", got.Cpu())
	}
}

func TestTaintsOfTheStartCountOnlyOnceTheNodeIsInitialized(t *testing.T) {
	n := startingNode(map[string]string{RegisteredLabel: "true"},
		corev1.Taint{Key: "cni", Effect: "NoSchedule"},
		corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"},
		corev1.Taint{Key: "readiness.k8s.io/gpu", Effect: "NoSchedule"},
		corev1.Taint{Key: "team", Effect: "NoSchedule"})
	if got := n.Taints(); len(got) != 1 || got[0].Key != "team" {
		t.Errorf("taints are %v, want team alone", got)
	}
	n.Object.Labels[InitializedLabel] = "true"
	if got := n.Taints(); len(got) != 4 {
		t.Errorf("once initialized, taints are %v, want all four", got)
	}
	n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if got := n.Taints(); len(got) != 3 || got[1].Key != "readiness.k8s.io/gpu" {
		t.Errorf("once its kubelet is ready, taints are %v, want all but not-ready", got)
	}
}

func TestACordonIsATaint(t *testing.T) {
	n := &Node{Object: &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}}
	if got := n.Taints(); len(got) != 1 || got[0].Key != corev1.TaintNodeUnschedulable {
		t.Errorf("taints are %v", got)
	}
}

func TestAnUnlaunchedMachineGuaranteesWhatItsClaimDemands(t *testing.T) {
	n := startingNode(nil)
	n.Object, n.Claim.ProviderID, n.Claim.Allocatable = nil, "", nil
	n.Claim.Requirements = requirement.NewSet(requirement.Must("zone", requirement.In, "a", "b"))
	if got := n.Guaranteed().String(); got != "from In [claim], zone In [a b]" {
		t.Errorf("guaranteed is %s", got)
	}
	allocatable := n.Allocatable()
	if allocatable.Cpu().String() != "1" {
		t.Errorf("allocatable is %s cpu, want the claim's request", allocatable.Cpu())
	}
}

// Pods are planned for a node that keeps them off until it is initialized, not for one that is kept
// because it was not in time.
func TestTheTaintOfANodeThatIsNotInitializedPassesUnlessItIsRetained(t *testing.T) {
	taint := corev1.Taint{Key: NotInitializedTaint, Effect: "NoSchedule"}
	n := startingNode(map[string]string{RegisteredLabel: "true"}, taint)
	if got := n.Taints(); len(got) > 0 {
		t.Errorf("while it starts, pods have to tolerate %v", got)
	}
	n.Claim.Annotations = map[string]string{RetainedAnnotation: "2026-03-11T12:00:00Z"}
	if got := fmt.Sprint(n.Taints()); got != fmt.Sprint([]corev1.Taint{taint}) {
		t.Errorf("once it is retained, pods have to tolerate %s", got)
	}
}
