package kwok

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestAMachineBootsAndItsNodeAppearsOnTime(t *testing.T) {
	w := newWorld(t)
	w.set("bootDelay", "10s", "registrationDelay", "5s")
	class := &v1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}}
	class.Spec.NodeRegistrationDelay = metav1.Duration{Duration: 20 * time.Second}
	if err := w.client.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	req := w.request("a")
	req.Class.Name = "slow"
	instance, err := w.Launch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		passes time.Duration
		state  cloud.State
		node   bool
	}{{0, cloud.Pending, false}, {9 * time.Second, cloud.Pending, false}, {1 * time.Second, cloud.Running, false},
		{24 * time.Second, cloud.Running, false}, {1 * time.Second, cloud.Running, true}} {
		w.advance(at.passes)
		if state, node := w.state(instance.ProviderID), w.node("a") != nil; state != at.state || node != at.node {
			t.Errorf("after %s more: state %s, node %v, want %s and %v", at.passes, state, node, at.state, at.node)
		}
	}
}

func TestTheNodeCarriesWhatTheHandshakeNeeds(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	w.advance(5 * time.Second)
	node := w.node("a")
	if node == nil {
		t.Fatal("no node")
	}
	if node.Spec.ProviderID != "kwok://a" || instance.ProviderID != "kwok://a" {
		t.Errorf("provider IDs are %s and %s", node.Spec.ProviderID, instance.ProviderID)
	}
	want := map[string]string{
		"team": "blue", "karpenter.sh/nodepool": "pool", "kubernetes.io/hostname": "a",
		"kwok.x-k8s.io/node": "fake", "eks-node-viewer/instance-price": "0.019003",
	}
	maps.Copy(want, instance.Labels)
	for key, value := range want {
		if node.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, node.Labels[key], value)
		}
	}
	for key, value := range map[string]string{
		"note": "kept", "kwok.x-k8s.io/node": "fake", attachDetach: "true", MachineAnnotation: "kwok-machine-uid-a",
	} {
		if node.Annotations[key] != value {
			t.Errorf("annotation %s is %q, want %q", key, node.Annotations[key], value)
		}
	}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[0].Key != "karpenter.sh/unregistered" {
		t.Errorf("taints are %v", node.Spec.Taints)
	}
	if got := quantities(node.Status.Allocatable, "cpu", "memory", "pods"); got != "900m 2038Mi 16" {
		t.Errorf("allocatable is %s", got)
	}
}

func TestTheUnregisteredTaintIsThereWithoutBeingAskedFor(t *testing.T) {
	w := newWorld(t)
	req := w.request("a")
	req.Taints = nil
	if _, err := w.Launch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	w.advance(5 * time.Second)
	if taints := w.node("a").Spec.Taints; len(taints) != 1 || taints[0] != unregistered {
		t.Errorf("taints are %v", taints)
	}
}

func TestEC2NodesTellTheCSIDriverTheirAttachmentLimit(t *testing.T) {
	w := newWorld(t)
	w.Provider = New(Config{Client: w.client, Clock: w.clock, Types: ec2Types(t)})
	typ := find(t, ec2Types(t), "m7i.large")
	for name, want := range map[string]string{"a": "31", "b": "3"} {
		req := w.request(name)
		req.Choices = []catalog.Choice{{Type: typ, Offering: &typ.Offerings[0]}}
		if name == "b" {
			req.Annotations[attachLimitAnnotation] = want
		}
		if _, err := w.Launch(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		w.advance(5 * time.Second)
		node := w.node(name)
		if got := node.Annotations["sandbox.millwright.dev/csi-attach-limit"]; got != want {
			t.Errorf("the limit of %s is %q, want %s", name, got, want)
		}
		if node.Labels[labelTenancy] != "default" {
			t.Errorf("tenancy is %q", node.Labels[labelTenancy])
		}
	}
}

func TestChangesToTheNodeByOthersStay(t *testing.T) {
	w := newWorld(t)
	w.launch("a")
	w.advance(5 * time.Second)
	node := w.node("a")
	node.Labels["team"], node.Spec.Taints = "red", nil
	if err := w.client.Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	w.Provider = w.restart()
	w.advance(time.Minute)
	if node := w.node("a"); node.Labels["team"] != "red" || len(node.Spec.Taints) > 0 {
		t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
	}
}

func TestADeletedNodeDoesNotComeBack(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	w.advance(5 * time.Second)
	if err := w.client.Delete(t.Context(), w.node("a")); err != nil {
		t.Fatal(err)
	}
	w.Provider = w.restart()
	w.advance(time.Minute)
	if err := w.Terminate(t.Context(), instance.ProviderID); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	if w.node("a") != nil || w.records() != 0 {
		t.Errorf("node %v, %d records", w.node("a"), w.records())
	}
}

func TestAMachineTerminatedBeforeItRegistersLeavesNothing(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	if err := w.Terminate(t.Context(), instance.ProviderID); err != nil {
		t.Fatal(err)
	}
	w.advance(10 * time.Second)
	if w.node("a") != nil || w.records() != 0 {
		t.Errorf("node %v, %d records", w.node("a"), w.records())
	}
}

func TestADyingMachineFallsSilentAndItsNodeIsDeletedWhenNotReady(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	w.launch("b")
	w.advance(5 * time.Second)
	w.setReady("a", corev1.ConditionTrue)
	w.set("dead", "a")
	w.advance(time.Second)
	if state := w.state(instance.ProviderID); state != gone {
		t.Errorf("state is %s", state)
	}
	if node := w.node("a"); node == nil || node.Annotations["sandbox.millwright.dev/kubelet"] != "silent" {
		t.Fatalf("the kubelet of %v is not silent", node)
	}
	w.advance(30 * time.Second)
	if w.node("a") == nil {
		t.Error("a Ready node was deleted before its time")
	}
	w.setReady("a", corev1.ConditionUnknown)
	w.advance(time.Second)
	if w.node("a") != nil {
		t.Error("the node is still there")
	}
	if w.node("b") == nil || w.records() != 1 {
		t.Errorf("the other machine is gone, or there are %d records", w.records())
	}
}

func TestAMachineThatDiesWhileItsNodeIsDrainedFallsSilent(t *testing.T) {
	for name, die := range map[string]func(*world){
		"by knob": func(w *world) { w.set("dead", "a") },
		"with its record": func(w *world) {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: "kwok-machine-uid-a"}}
			if err := w.client.Delete(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.launch("a")
			w.advance(5 * time.Second)
			node := w.node("a")
			node.Finalizers = []string{"karpenter.sh/termination"}
			if err := w.client.Update(t.Context(), node); err != nil {
				t.Fatal(err)
			}
			if err := w.client.Delete(t.Context(), node); err != nil {
				t.Fatal(err)
			}
			die(w)
			w.advance(time.Second)
			if node := w.node("a"); node.Annotations["sandbox.millwright.dev/kubelet"] != "silent" {
				t.Errorf("annotations are %v", node.Annotations)
			}
			if w.records() != 0 {
				t.Errorf("%d records are left", w.records())
			}
		})
	}
}

func TestTheKubeletOfATerminatedMachineFallsSilent(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	w.advance(5 * time.Second)
	if err := w.Terminate(t.Context(), instance.ProviderID); err != nil {
		t.Fatal(err)
	}
	w.advance(0)
	if node := w.node("a"); node.Annotations["sandbox.millwright.dev/kubelet"] != "silent" {
		t.Errorf("annotations are %v", node.Annotations)
	}
}

func TestANodeThatStaysReadyIsDeletedAfterAWhile(t *testing.T) {
	w := newWorld(t)
	w.launch("a")
	w.advance(5 * time.Second)
	w.setReady("a", corev1.ConditionTrue)
	w.set("dead", "*", "nodeDeletionDelay", "40s")
	w.advance(39 * time.Second)
	if w.node("a") == nil {
		t.Fatal("the node went too early")
	}
	w.advance(2 * time.Second)
	if w.node("a") != nil || w.records() != 0 {
		t.Error("the node or its record is still there")
	}
}

func TestAMachineWhoseRecordIsDeletedByHandIsGone(t *testing.T) {
	w := newWorld(t)
	instance := w.launch("a")
	w.advance(5 * time.Second)
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign", Labels: map[string]string{kwokLabel: kwokFake}}}
	if err := w.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: "kwok-machine-uid-a"}}
	if err := w.client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Second)
	if w.state(instance.ProviderID) != gone || w.node("a") != nil {
		t.Errorf("state %s, node %v", w.state(instance.ProviderID), w.node("a"))
	}
	if w.node("foreign") == nil {
		t.Error("somebody else's KWOK node was deleted")
	}
}

func TestANodeOfTheSameNameThatIsNotOursIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	if err := w.client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	w.launch("a")
	w.clock.Step(3 * time.Second)
	w.clock.Step(2 * time.Second)
	if _, err := w.Step(t.Context()); err == nil || !strings.Contains(err.Error(), "not this machine's") {
		t.Errorf("the step answered %v", err)
	}
	if err := w.Terminate(t.Context(), "kwok://a"); err != nil {
		t.Fatal(err)
	}
	w.advance(5 * time.Second)
	if w.node("a") == nil || w.records() != 0 {
		t.Errorf("node %v, %d records", w.node("a"), w.records())
	}
}

func TestMachinesPlayedAtOnceEachGetOneNode(t *testing.T) {
	w := newWorld(t)
	const machines = 50
	for i := range machines {
		w.launch(fmt.Sprint("m", i))
	}
	for range 8 {
		if _, err := w.step(t.Context(), workers); err != nil {
			t.Fatal(err)
		}
		w.clock.Step(time.Second)
	}
	var nodes corev1.NodeList
	if err := w.client.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != machines || w.records() != machines {
		t.Errorf("%d nodes and %d records for %d machines", len(nodes.Items), w.records(), machines)
	}
}
