package provider

import (
	"context"
	"fmt"
	"sync"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/observed"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// sightings are the records of classes as they were read last. It is safe for concurrent use.
type sightings struct {
	mu   sync.Mutex
	list map[string]sighting
}

// sighting is what is known of a class's types, and the annotations that say so.
type sighting struct {
	text        [3]string
	memory      func(typeName string) (int64, bool)
	allocatable func(typeName string) (corev1.ResourceList, map[corev1.ResourceName]observed.Lack)
}

func (s *sightings) of(class *awsv1.EC2NodeClass) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := class.Annotations
	text := [3]string{a[observed.Annotation], a[observed.AllocatableAnnotation], a[ec2class.AnnotationEC2NodeClassHash]}
	have, ok := s.list[class.Name]
	if !ok || have.text != text {
		if s.list == nil {
			s.list = map[string]sighting{}
		}
		have.text = text
		have.memory, have.allocatable = observed.Of(a)
		s.list[class.Name] = have
	}
	return have
}

// learn brings the records of a class up to date with the Nodes that have registered, in place.
func (p *Provider) learn(ctx context.Context, class *awsv1.EC2NodeClass) error {
	var nodes corev1.NodeList
	err := p.Reader.List(ctx, &nodes, client.MatchingLabels{ec2class.LabelNodeClass: class.Name, karpv1.NodeRegisteredLabelKey: "true"})
	if err != nil {
		return fmt.Errorf("listing Nodes of EC2NodeClass %s: %w", class.Name, err)
	}
	images := map[string]bool{}
	for _, a := range class.Status.AMIs {
		images[a.ID] = true
	}
	every := func(do func(*corev1.Node, observed.Kind)) {
		for i := range nodes.Items {
			if id, err := idOf(nodes.Items[i].Spec.ProviderID); err == nil {
				if machine, ok := p.machines.Known(id); ok {
					do(&nodes.Items[i], observed.Kind{Type: machine.Type, Image: machine.Image})
				}
			}
		}
	}
	each := func(do func(*corev1.Node, observed.Kind)) {
		every(func(n *corev1.Node, k observed.Kind) {
			if images[k.Image] {
				do(n, k)
			}
		})
	}
	memory := observed.Read(class.Annotations[observed.Annotation])
	memory.Keep(images)
	each(func(n *corev1.Node, k observed.Kind) { memory.Learn(k, n.Status.Capacity.Memory().Value()) })
	annotate(class, observed.Annotation, memory.Text())

	hash := class.Annotations[ec2class.AnnotationEC2NodeClassHash]
	allocatable := observed.ReadAllocatable(class.Annotations[observed.AllocatableAnnotation], hash)
	allocatable.Keep(images)
	expected := p.expected(class)
	ofSpec := func(n *corev1.Node) bool {
		return n.Labels[karpv1.NodeInitializedLabelKey] == "true" && n.Annotations[ec2class.AnnotationEC2NodeClassHash] == hash
	}
	each(func(n *corev1.Node, k observed.Kind) {
		if want := expected(k.Type); want != nil && ofSpec(n) {
			allocatable.Learn(k, n.Status.Allocatable, want)
		}
	})
	allocatable.Compare(expected)
	// Devices are known of a spec that no Node has yet: those of the Nodes that are to be replaced.
	old, devices := map[string][]corev1.ResourceList{}, map[string][]corev1.ResourceList{}
	every(func(n *corev1.Node, k observed.Kind) {
		if old[k.Type] = append(old[k.Type], n.Status.Capacity); ofSpec(n) {
			devices[k.Type] = append(devices[k.Type], n.Status.Capacity)
		}
	})
	for typeName, nodes := range old {
		if now := devices[typeName]; len(now) > 0 {
			nodes = now
		}
		allocatable.LearnDevices(typeName, expected(typeName), nodes)
	}
	annotate(class, observed.AllocatableAnnotation, allocatable.Text())
	return nil
}

// expected is what pods could request of Nodes if they had all that a class's spec leaves them; nil
// of a type that is not known.
func (p *Provider) expected(class *awsv1.EC2NodeClass) func(typeName string) corev1.ResourceList {
	settings := p.settings(class)
	settings.Allocatable = nil
	infos, _, _ := p.market.read()
	wrong := settings.Check(infos)
	of := map[string]corev1.ResourceList{}
	return func(typeName string) corev1.ResourceList {
		want, done := of[typeName]
		if info, known := p.market.info(typeName); !done && known && wrong == nil {
			want = instancetype.Describe(&info, settings).Allocatable()
			of[typeName] = want
		}
		return want
	}
}

// annotate sets an annotation; an empty one is taken off.
func annotate(class *awsv1.EC2NodeClass, key, text string) {
	switch {
	case text == "":
		delete(class.Annotations, key)
	case class.Annotations == nil:
		class.Annotations = map[string]string{key: text}
	default:
		class.Annotations[key] = text
	}
}
