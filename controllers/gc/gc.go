// Package gc finds what a crash, a lost answer or a deletion by hand left
// behind.
//
//	machine without a claim  ──► its Node is drained, or it is terminated
//	claim without a machine  ──► the claim is deleted
//	Node of ours with neither ──► the Node is deleted
//	claim without its provider ID ──► it is restored
//	machine without its claim's name ──► it is written on it in the cloud
//	machine without its reservation ──► Node and claim are those of an on-demand machine
//
// The order of reading is what makes it safe. A claim exists before its machine
// does, so a machine that was listed first and has no claim in a later, live list
// will never have one. A cloud's list may lag, so a claim is only given up when
// the cloud, asked for exactly that machine, says that it does not exist, and its
// Node, if it has one, is not Ready either.
package gc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodeclaims/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete

const (
	// Interval is the time between two sweeps.
	Interval = time.Minute
	// orphanAge is how old a machine without a claim must be.
	orphanAge = 30 * time.Second
)

const name = "nodeclaim.garbagecollection"

// Collector sweeps. It is not safe for concurrent use.
type Collector struct{ deps loop.Deps }

// New makes a Collector.
func New(d loop.Deps) *Collector { return &Collector{d} }

// Add registers the loop: one sweep per Interval, on the leader.
func Add(mgr manager.Manager, d loop.Deps) error { return mgr.Add(New(d)) }

// Start sweeps until the context ends.
func (c *Collector) Start(ctx context.Context) error {
	return c.deps.Every(metrics.WithController(ctx, name), Interval, Interval, "sweeping", c.Sweep)
}

// Sweep looks once for machines without a claim, claims without a machine, and
// Nodes of ours that have neither, and for machines that do not say whose they are or that
// are not reserved any more.
// One that cannot be dealt with does not keep it from the others.
func (c *Collector) Sweep(ctx context.Context) error {
	instances, err := c.deps.Provider.List(ctx)
	if err != nil {
		return fmt.Errorf("listing instances: %w", err)
	}
	var claims karpv1.NodeClaimList
	if err := c.deps.Live.List(ctx, &claims); err != nil {
		return fmt.Errorf("listing NodeClaims: %w", err)
	}
	return errors.Join(
		c.orphans(ctx, instances, claims.Items),
		c.unlistedClaims(ctx, instances, claims.Items),
		c.abandonedNodes(ctx, claims.Items),
		c.unmarked(ctx, instances, claims.Items),
		c.outliving(ctx, instances, claims.Items),
	)
}

// orphans ends the machines that no claim accounts for.
func (c *Collector) orphans(ctx context.Context, instances []cloud.Instance, claims []karpv1.NodeClaim) error {
	known := providerIDs(claims)
	var failed []error
	for _, i := range instances {
		if known[i.ProviderID] || c.deps.Clock.Since(i.Launched) < orphanAge || i.State == cloud.ShuttingDown {
			continue
		}
		// A claim that names its machine accounts for no second one of its token.
		if !slices.ContainsFunc(claims, func(c karpv1.NodeClaim) bool { return c.Status.ProviderID == "" && i.LaunchedFor(c.Name, c.UID) }) {
			failed = append(failed, c.orphan(ctx, i))
		}
	}
	return errors.Join(failed...)
}

func providerIDs(claims []karpv1.NodeClaim) map[string]bool {
	out := make(map[string]bool, len(claims))
	for i := range claims {
		out[claims[i].Status.ProviderID] = true
	}
	return out
}

// orphan ends one machine.
func (c *Collector) orphan(ctx context.Context, i cloud.Instance) error {
	nodes, err := c.deps.NodesOf(ctx, i.ProviderID)
	if err != nil {
		return err
	}
	log.FromContext(ctx).Info("terminating an instance without a NodeClaim", "providerID", i.ProviderID, "claim", i.Claim)
	deleted, drained := lifecycle.EndOrphan(nodes)
	for _, n := range deleted {
		if _, err := c.deps.Writer.Delete(ctx, n); err != nil {
			return err
		}
	}
	if drained {
		return nil
	}
	if err := c.deps.Provider.Terminate(ctx, i.ProviderID); err != nil && !errors.Is(err, cloud.ErrNotFound) {
		return fmt.Errorf("terminating %s: %w", i.ProviderID, err)
	}
	return nil
}

// unlistedClaims deletes the claims whose instance is gone, and writes its provider ID to those
// that have lost it.
func (c *Collector) unlistedClaims(ctx context.Context, instances []cloud.Instance, claims []karpv1.NodeClaim) error {
	alive := make(map[string]bool, len(instances))
	for _, i := range instances {
		alive[i.ProviderID] = true
	}
	var failed []error
	for i := range claims {
		if alive[claims[i].Status.ProviderID] || !c.deps.Manages(cluster.ClassRef(claims[i].Spec.NodeClassRef)) {
			continue
		}
		failed = append(failed, c.unlistedClaim(ctx, &claims[i], instances))
	}
	return errors.Join(failed...)
}

// unlistedClaim deals with one claim whose instance was not listed under its provider ID.
func (c *Collector) unlistedClaim(ctx context.Context, claim *karpv1.NodeClaim, instances []cloud.Instance) error {
	nodes, err := c.nodes(ctx, claim)
	if err != nil {
		return err
	}
	v := lifecycle.Unlisted{Now: c.deps.Clock.Now(), Claim: cluster.Claim(claim), Nodes: nodes}
	if v.Found, err = c.find(ctx, claim, instances, nodes); err != nil {
		return err
	}
	switch v.Decide() {
	case lifecycle.RecallMachine:
		return c.recall(ctx, claim, v.Found)
	case lifecycle.AskForMachine:
		why, err := c.gone(ctx, v.Claim.ProviderID)
		if err != nil || why == nil {
			return err
		}
		return c.giveUp(ctx, claim, why)
	case lifecycle.GiveUpMachine:
		return c.giveUp(ctx, claim, cloud.ErrNotFound)
	}
	return nil
}

// nodes are those of a claim: by its provider ID, or by the name of its Node if it has lost that.
func (c *Collector) nodes(ctx context.Context, claim *karpv1.NodeClaim) ([]*corev1.Node, error) {
	if claim.Status.ProviderID != "" || claim.Status.NodeName == "" {
		return c.deps.NodesOf(ctx, claim.Status.ProviderID)
	}
	var n corev1.Node
	err := c.deps.Client.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, &n)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for Node %s: %w", claim.Status.NodeName, err)
	}
	return []*corev1.Node{&n}, nil
}

// find is the provider ID of the machine that was launched for a claim. One that the list lacks is
// asked for as a Node of a claim that has lost it names it.
func (c *Collector) find(ctx context.Context, claim *karpv1.NodeClaim, instances []cloud.Instance, nodes []*corev1.Node) (string, error) {
	own := func(i cloud.Instance) bool { return i.LaunchedFor(claim.Name, claim.UID) }
	if i := slices.IndexFunc(instances, own); i >= 0 {
		return instances[i].ProviderID, nil
	}
	if claim.Status.ProviderID != "" || len(nodes) == 0 || nodes[0].Spec.ProviderID == "" {
		return "", nil
	}
	switch i, err := c.deps.Provider.Get(ctx, nodes[0].Spec.ProviderID); {
	case err == nil && own(i):
		return i.ProviderID, nil
	case err != nil && !errors.Is(err, cloud.ErrNotFound):
		return "", fmt.Errorf("looking up %s: %w", nodes[0].Spec.ProviderID, err)
	}
	return "", nil
}

// recall restores the provider ID of a claim that has lost it.
func (c *Collector) recall(ctx context.Context, claim *karpv1.NodeClaim, providerID string) error {
	log.FromContext(ctx).Info("found the machine of a NodeClaim that had lost its provider ID", "NodeClaim", claim.Name, "provider-id", providerID)
	_, err := c.deps.Writer.Claim(ctx, claim, func(c *karpv1.NodeClaim) { c.Status.ProviderID = providerID })
	return err
}

// giveUp deletes a claim whose machine is gone, and says why.
func (c *Collector) giveUp(ctx context.Context, claim *karpv1.NodeClaim, why error) error {
	log.FromContext(ctx).Info("giving up a NodeClaim whose machine is gone", "NodeClaim", claim.Name, "because", why.Error())
	claim, err := c.deps.Writer.Ended(ctx, claim, why.Error())
	if err != nil {
		return err
	}
	first, err := c.deps.Writer.Delete(ctx, claim)
	if err != nil || !first {
		return err
	}
	value := cluster.Claim(claim)
	c.deps.Metrics.ClaimDisrupted(metrics.Disruption{
		Reason: metrics.GarbageCollected, Pool: value.Pool, CapacityType: value.Labels[catalog.CapacityTypeLabel], GracePeriod: value.TerminationGracePeriod,
	})
	return nil
}

// gone asks the cloud for exactly this machine, and is what it says if that is gone.
func (c *Collector) gone(ctx context.Context, providerID string) (why, err error) {
	_, err = c.deps.Provider.Get(ctx, providerID)
	if err == nil || errors.Is(err, cloud.ErrNotFound) {
		return err, nil
	}
	return nil, fmt.Errorf("looking up %s: %w", providerID, err)
}

// abandonedNodes deletes Nodes of ours that have neither a claim nor an instance any more.
func (c *Collector) abandonedNodes(ctx context.Context, claims []karpv1.NodeClaim) error {
	known := providerIDs(claims)
	var nodes corev1.NodeList
	if err := c.deps.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing Nodes: %w", err)
	}
	var failed []error
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if n.DeletionTimestamp != nil || !lifecycle.Ours(n) || snapshot.Ready(n) || n.Spec.ProviderID == "" || known[n.Spec.ProviderID] || !c.deps.ManagesNode(n) {
			continue
		}
		why, err := c.gone(ctx, n.Spec.ProviderID)
		if err == nil && why != nil {
			_, err = c.deps.Writer.Delete(ctx, n)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
