package provider

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/observed"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// listed is a type as the catalogue has it.
func (r *rig) listed(p *Provider, typeName string) *catalog.Type {
	r.t.Helper()
	types, err := p.InstanceTypes(r.t.Context(), classRef)
	r.must(err)
	for _, t := range types {
		if t.Name == typeName {
			return t
		}
	}
	r.t.Fatalf("%s is not in the catalogue", typeName)
	return nil
}

// memory is what the catalogue says that a type has.
func (r *rig) memory(p *Provider, typeName string) string {
	r.t.Helper()
	return r.listed(p, typeName).Capacity.Memory().String()
}

// What the Nodes of a type turned out to have is counted on, also by the next process and when
// the Nodes are gone, until the image changes.
func TestMemoryIsLearnedFromNodesAndOutlivesThem(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.resolved(p, discovering)
	i := r.claimed(p)
	before, other := r.memory(p, i.Type), "m5.xlarge"
	untouched := r.memory(p, other)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{ec2class.LabelNodeClass: "default"}}}
	node.Spec.ProviderID = i.ProviderID
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3700Mi")}
	r.must(r.kube.Create(t.Context(), node))
	_, err := p.List(t.Context())
	r.must(err)
	again := func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil }
	r.resolved(p, again)
	if got := r.memory(p, i.Type); got != before {
		t.Errorf("a Node that has not registered was believed: %s", got)
	}
	node.Labels["karpenter.sh/registered"] = "true"
	r.must(r.kube.Update(t.Context(), node))
	r.resolved(p, again)
	if got := r.memory(p, i.Type); got != "3700Mi" || r.memory(p, other) != untouched {
		t.Errorf("%s has %s, and %s %s instead of %s", i.Type, got, other, r.memory(p, other), untouched)
	}

	r.must(r.kube.Delete(t.Context(), node))
	p = r.provider()
	r.resolved(p, again)
	if got := r.memory(p, i.Type); got != "3700Mi" {
		t.Errorf("after a restart, without the Node, it has %s", got)
	}
	class := &awsv1.EC2NodeClass{}
	r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
	class.Status.AMIs = nil
	r.must(p.learn(t.Context(), class))
	if text, ok := class.Annotations[observed.Annotation]; ok {
		t.Errorf("with other images %s is still known", text)
	}
}

// What pods can request of Nodes may be less than the class says: its user data reserves more, the
// file system takes its part of a disk. Without that being counted on the next machine would be of
// the same type, and the pod would not fit there either.
func TestWhatPodsCanRequestIsLearnedFromNodesOfTheSameSpec(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	again := func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil }
	r.resolved(p, discovering)
	class := &awsv1.EC2NodeClass{}
	r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
	hash := class.Annotations[ec2class.AnnotationEC2NodeClassHash]
	i := r.claimed(p)
	before, other := r.listed(p, i.Type).Allocatable(), r.listed(p, "m5.xlarge").Allocatable()
	less := func(name corev1.ResourceName, by string) resource.Quantity {
		q := before[name].DeepCopy()
		q.Sub(resource.MustParse(by))
		return q
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n", Labels: map[string]string{ec2class.LabelNodeClass: "default", "karpenter.sh/registered": "true"},
		Annotations: map[string]string{ec2class.AnnotationEC2NodeClassHash: hash},
	}}
	node.Spec.ProviderID = i.ProviderID
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: less(corev1.ResourceCPU, "300m"), corev1.ResourceEphemeralStorage: less(corev1.ResourceEphemeralStorage, "20Mi"),
		corev1.ResourceMemory: less(corev1.ResourceMemory, "1Gi"), "hugepages-2Mi": resource.MustParse("512Mi"), corev1.ResourcePods: resource.MustParse("0"),
	}
	r.must(r.kube.Create(t.Context(), node))
	_, err := p.List(t.Context())
	r.must(err)
	expect := func(when string, want corev1.ResourceList) {
		t.Helper()
		r.resolved(p, again)
		got := r.listed(p, i.Type).Allocatable()
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods, "hugepages-2Mi"} {
			if q := got[name]; q.Cmp(want[name]) != 0 {
				t.Errorf("%s: pods can request %s %s of %s; want %v", when, q.String(), name, i.Type, want[name])
			}
		}
	}
	expect("of a Node that is not complete", before)
	node.Labels["karpenter.sh/initialized"] = "true"
	r.must(r.kube.Update(t.Context(), node))
	want := node.Status.Allocatable.DeepCopy()
	want[corev1.ResourcePods] = before[corev1.ResourcePods]
	expect("of such a Node", want)
	expect("when looked at again", want)
	// Of a type that was not seen as much is presumed to be lacking.
	for name, lacking := range map[corev1.ResourceName]string{corev1.ResourceCPU: "300m", corev1.ResourceEphemeralStorage: "20Mi", corev1.ResourceMemory: "512Mi", corev1.ResourcePods: "0"} {
		left := other[name].DeepCopy()
		left.Sub(resource.MustParse(lacking))
		if got := r.listed(p, "m5.xlarge").Allocatable()[name]; got.Cmp(left) != 0 {
			t.Errorf("pods can request %s %s of m5.xlarge; want %s", got.String(), name, left.String())
		}
	}
	node.Annotations[ec2class.AnnotationEC2NodeClassHash] = "0"
	r.must(r.kube.Update(t.Context(), node))
	expect("of a record", want)

	again = func(c *awsv1.EC2NodeClass) {
		c.Status.Conditions, c.Spec.UserData = nil, aws.String("#!/bin/sh")
	}
	expect("of another spec", before)
}

// A device plugin that shares GPUs is known from the first Node on, whatever the Nodes are replaced for.
func TestSharesOfGPUsAreLearnedFromNodes(t *testing.T) {
	r := newRig(t, "g4dn.xlarge")
	p := r.provider()
	again := func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil }
	r.resolved(p, discovering)
	gpus := func(when, want string) {
		t.Helper()
		r.resolved(p, again)
		if got := r.listed(p, "g4dn.xlarge").Allocatable()[ec2class.ResourceNVIDIAGPU]; got.String() != want {
			t.Errorf("%s a g4dn.xlarge has %s GPUs, want %s", when, got.String(), want)
		}
	}
	i := r.claimed(p)
	_, err := p.List(t.Context())
	r.must(err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n", Labels: map[string]string{ec2class.LabelNodeClass: "default", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"},
	}}
	node.Spec.ProviderID = i.ProviderID
	node.Status.Capacity = corev1.ResourceList{ec2class.ResourceNVIDIAGPU: resource.MustParse("4")}
	gpus("before there is a Node", "1")
	r.must(r.kube.Create(t.Context(), node))
	gpus("of an earlier spec", "4")
	r.must(r.kube.Delete(t.Context(), node))
	again = func(c *awsv1.EC2NodeClass) { c.Status.Conditions, c.Spec.UserData = nil, aws.String("#!/bin/sh") }
	gpus("without Nodes, of another spec,", "4")
}

// Which disk holds the kubelet's data the image and user data decide: it may be larger than the one
// that the class describes.
func TestALargerDiskIsLearnedFromNodes(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	r.resolved(p, discovering)
	class := &awsv1.EC2NodeClass{}
	r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
	i := r.claimed(p)
	_, err := p.List(t.Context())
	r.must(err)
	for _, step := range []struct{ node, want string }{{"360Gi", "360Gi"}, {"350Gi", "350Gi"}, {"355Gi", "350Gi"}, {"16Gi", "16Gi"}} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: "n" + step.node, Labels: map[string]string{ec2class.LabelNodeClass: "default", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"},
			Annotations: map[string]string{ec2class.AnnotationEC2NodeClassHash: class.Annotations[ec2class.AnnotationEC2NodeClassHash]},
		}}
		node.Spec.ProviderID = i.ProviderID
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(step.node)}
		r.must(r.kube.Create(t.Context(), node))
		r.resolved(p, func(c *awsv1.EC2NodeClass) { c.Status.Conditions = nil })
		if got := r.listed(p, i.Type).Allocatable()[corev1.ResourceEphemeralStorage]; got.String() != step.want {
			t.Errorf("after a Node with %s pods can request %s", step.node, got.String())
		}
		if got := r.listed(p, "m5.xlarge").Allocatable()[corev1.ResourceEphemeralStorage]; got.String() != "17Gi" && step.node != "16Gi" {
			t.Errorf("after a Node with %s pods can request %s of another type", step.node, got.String())
		}
	}
}
