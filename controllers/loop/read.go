package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// Fields by which the cache is indexed.
const (
	NodeProviderID  = "spec.providerID"
	ClaimProviderID = "status.providerID"
	// ClaimMachine is the cloud's own name of a claim's machine, see MachineName.
	ClaimMachine = "machine"
	// ClaimLaunching is "true" for the claims of which no machine is known yet.
	ClaimLaunching = "launching"
	PodNode        = "spec.nodeName"
	AttachmentNode = "spec.nodeName"
	// NodeGoing is "true" for the Nodes that are being deleted and have our
	// finalizer.
	NodeGoing = "going"
)

// Index is one index of the cache.
type Index struct {
	Object  client.Object
	Field   string
	Extract client.IndexerFunc
}

// Indexes are those that reads of this package and the loops rely on.
func Indexes() []Index {
	return []Index{
		{&corev1.Node{}, NodeProviderID, func(o client.Object) []string { return present(o.(*corev1.Node).Spec.ProviderID) }},
		{&corev1.Node{}, NodeGoing, func(o client.Object) []string { return present(going(o)) }},
		{&karpv1.NodeClaim{}, ClaimProviderID, func(o client.Object) []string { return present(o.(*karpv1.NodeClaim).Status.ProviderID) }},
		{&karpv1.NodeClaim{}, ClaimMachine, func(o client.Object) []string {
			return present(MachineName(o.(*karpv1.NodeClaim).Status.ProviderID))
		}},
		{&karpv1.NodeClaim{}, ClaimLaunching, func(o client.Object) []string { return present(launching(o)) }},
		{&corev1.Pod{}, PodNode, func(o client.Object) []string { return present(o.(*corev1.Pod).Spec.NodeName) }},
		{&storagev1.VolumeAttachment{}, AttachmentNode, func(o client.Object) []string { return present(o.(*storagev1.VolumeAttachment).Spec.NodeName) }},
	}
}

// MachineName is what a provider ID ends in: the cloud's own name of the machine.
func MachineName(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

func launching(claim client.Object) string {
	if claim.(*karpv1.NodeClaim).Status.ProviderID != "" {
		return ""
	}
	return "true"
}

func going(node client.Object) string {
	if node.GetDeletionTimestamp() == nil || !slices.Contains(node.GetFinalizers(), lifecycle.Finalizer) {
		return ""
	}
	return "true"
}

func present(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// Claim reads a claim, at least as new as this process's own last write to it.
func (d Deps) Claim(ctx context.Context, name string) (*karpv1.NodeClaim, error) {
	claim := &karpv1.NodeClaim{}
	if err := d.Client.Get(ctx, client.ObjectKey{Name: name}, claim); err != nil {
		return nil, fmt.Errorf("reading NodeClaim %s: %w", name, err)
	}
	return d.newest(claim), nil
}

// newest is the store's state of a claim if it is newer than what was read.
func (d Deps) newest(claim *karpv1.NodeClaim) *karpv1.NodeClaim {
	known, ok := d.Store.NodeClaim(claim.Name)
	if !ok || known.UID != claim.UID {
		return claim
	}
	order, err := resourceversion.CompareResourceVersion(known.ResourceVersion, claim.ResourceVersion)
	if err == nil && order > 0 {
		return known.DeepCopy()
	}
	return claim
}

// NodesOf lists the Nodes that carry a provider ID, by name.
func (d Deps) NodesOf(ctx context.Context, providerID string) ([]*corev1.Node, error) {
	if providerID == "" {
		return nil, nil
	}
	var list corev1.NodeList
	if err := d.Client.List(ctx, &list, client.MatchingFields{NodeProviderID: providerID}); err != nil {
		return nil, fmt.Errorf("listing Nodes with provider ID %s: %w", providerID, err)
	}
	return byName(list.Items, func(n *corev1.Node) string { return n.Name }), nil
}

// ClaimsOf lists the claims that carry a provider ID, by name.
func (d Deps) ClaimsOf(ctx context.Context, providerID string) ([]*karpv1.NodeClaim, error) {
	return d.claimsBy(ctx, ClaimProviderID, providerID)
}

// ClaimsOfMachine lists the claims of a machine by the cloud's own name of it, by
// name.
func (d Deps) ClaimsOfMachine(ctx context.Context, machine string) ([]*karpv1.NodeClaim, error) {
	return d.claimsBy(ctx, ClaimMachine, machine)
}

func (d Deps) claimsBy(ctx context.Context, field, value string) ([]*karpv1.NodeClaim, error) {
	if value == "" {
		return nil, nil
	}
	var list karpv1.NodeClaimList
	if err := d.Client.List(ctx, &list, client.MatchingFields{field: value}); err != nil {
		return nil, fmt.Errorf("listing NodeClaims whose %s is %s: %w", field, value, err)
	}
	out := byName(list.Items, func(c *karpv1.NodeClaim) string { return c.Name })
	for i, c := range out {
		out[i] = d.newest(c)
	}
	return out, nil
}

func byName[T any](items []T, name func(*T) string) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	slices.SortFunc(out, func(a, b *T) int { return cmp.Compare(name(a), name(b)) })
	return out
}
