package offer

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Key names an offer.
type Key struct{ Pool, Type, Zone, CapacityType string }

// Offer is one machine that a pool could buy.
type Offer struct {
	Key
	// Price is in $/h.
	Price float64
	// Node is what it would become. Its allocatable is before DaemonSets.
	Node *corev1.Node
	// Free is what pods can have: allocatable less the requests of the
	// DaemonSets that would run there.
	Free Amounts
}

// All lists the available offerings that each pool's requirements admit, in
// the order of pools and types.
//
// It refuses a problem whose pods or pools ask for a label of which a type
// leaves several values open (tenancy, say): such a type stands for several
// kinds of node, and a node is one of them.
func All(p *bench.Problem) ([]*Offer, error) {
	asked := labelsAsked(p)
	var out []*Offer
	for _, pool := range p.Pools {
		admits, err := poolSelector(pool)
		if err != nil {
			return nil, err
		}
		for _, t := range p.Types {
			for _, o := range t.Offerings {
				node, err := newNode(pool, t, o, asked)
				if err != nil {
					return nil, err
				}
				if o.Available && admits.Match(node) {
					out = append(out, newOffer(p, pool, t, o, node))
				}
			}
		}
	}
	return out, nil
}

func newOffer(p *bench.Problem, pool *karpv1.NodePool, t *catalog.Type, o catalog.Offering, node *corev1.Node) *Offer {
	free := amounts(node.Status.Allocatable)
	for _, ds := range p.DaemonSets {
		pod := &corev1.Pod{Spec: ds.Spec.Template.Spec}
		if ok, err := Runs(pod, node); err == nil && ok {
			free.Subtract(Requests(pod))
		}
	}
	return &Offer{
		Key:   Key{pool.Name, t.Name, o.Zone, o.CapacityType},
		Price: o.Price,
		Node:  node,
		Free:  free,
	}
}

func newNode(pool *karpv1.NodePool, t *catalog.Type, o catalog.Offering, asked map[string]bool) (*corev1.Node, error) {
	labels := maps.Clone(pool.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[karpv1.NodePoolLabelKey] = pool.Name
	labels[corev1.LabelTopologyZone] = o.Zone
	labels[catalog.CapacityTypeLabel] = o.CapacityType
	maps.Copy(labels, o.Labels)
	for _, r := range t.Requirements {
		_, fromOffering := labels[r.Key()]
		switch {
		case fromOffering && r.Has(labels[r.Key()]):
		case r.Finite() && len(r.Values()) == 1:
			labels[r.Key()] = r.Values()[0]
		case r.Finite() && r.Absent(): // a label that the type never has
		case asked[r.Key()]:
			return nil, fmt.Errorf("type %s: label %s can take several values (%s)", t.Name, r.Key(), r)
		}
	}
	node := &corev1.Node{}
	node.Labels = labels
	node.Spec.Taints = pool.Spec.Template.Spec.Taints
	node.Status.Allocatable = t.Allocatable()
	return node, nil
}
