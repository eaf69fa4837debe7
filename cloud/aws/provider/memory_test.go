package provider

import (
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/observed"
)

// memory is what the catalogue says that a type has.
func (r *rig) memory(p *Provider, typeName string) string {
	r.t.Helper()
	types, err := p.InstanceTypes(r.t.Context(), classRef)
	r.must(err)
	for _, t := range types {
		if t.Name == typeName {
			return t.Capacity.Memory().String()
		}
	}
	return "none"
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
