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
	"github.com/millwright-dev/millwright/cloud/aws/observed"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch

// memories are the records of classes as they were read last, by text. It is safe for
// concurrent use.
type memories struct {
	mu   sync.Mutex
	text map[string]string
	list map[string]map[string]int64
}

// of is what is known of a class's types.
func (m *memories) of(class *awsv1.EC2NodeClass) map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := class.Annotations[observed.Annotation]
	if m.list == nil {
		m.text, m.list = map[string]string{}, map[string]map[string]int64{}
	}
	if have, ok := m.list[class.Name]; ok && m.text[class.Name] == text {
		return have
	}
	m.text[class.Name], m.list[class.Name] = text, observed.Read(text).ByType()
	return m.list[class.Name]
}

// learn brings the record of a class up to date with the Nodes that have registered, in place.
func (p *Provider) learn(ctx context.Context, class *awsv1.EC2NodeClass) error {
	var nodes corev1.NodeList
	err := p.Reader.List(ctx, &nodes, client.MatchingLabels{ec2class.LabelNodeClass: class.Name, karpv1.NodeRegisteredLabelKey: "true"})
	if err != nil {
		return fmt.Errorf("listing Nodes of EC2NodeClass %s: %w", class.Name, err)
	}
	record := observed.Read(class.Annotations[observed.Annotation])
	for i := range nodes.Items {
		n := &nodes.Items[i]
		id, err := idOf(n.Spec.ProviderID)
		if err != nil {
			continue
		}
		if machine, ok := p.machines.Known(id); ok {
			record.Learn(observed.Kind{Type: machine.Type, Image: machine.Image}, n.Status.Capacity.Memory().Value())
		}
	}
	images := map[string]bool{}
	for _, a := range class.Status.AMIs {
		images[a.ID] = true
	}
	record.Keep(images)
	if text := record.Text(); text != "" {
		if class.Annotations == nil {
			class.Annotations = map[string]string{}
		}
		class.Annotations[observed.Annotation] = text
	} else {
		delete(class.Annotations, observed.Annotation)
	}
	return nil
}
