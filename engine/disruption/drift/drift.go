// Package drift says whether a machine is still what its pool asks for.
//
// Three things can be seen in a snapshot: the template's hash, the pool's
// requirements, and whether the cloud still sells the machine's type. What only
// the cloud knows (an image, a security group) comes in as the claim's Drifted
// condition, with a reason that is none of ours.
package drift

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Reasons, in Karpenter's words.
const (
	NodePoolDrifted      = "NodePoolDrifted"
	RequirementsDrifted  = "RequirementsDrifted"
	InstanceTypeNotFound = "InstanceTypeNotFound"
)

// Annotations by which a claim says what it was made from.
const (
	HashAnnotation    = "karpenter.sh/nodepool-hash"
	VersionAnnotation = "karpenter.sh/nodepool-hash-version"
)

// settled is how old a claim must be before a type that is not sold counts
// against it: a cloud may list it late.
const settled = time.Hour

// Find says why a machine has drifted from its pool, the first reason that holds;
// empty if it has not.
func Find(pool *snapshot.Pool, c *snapshot.Claim, now time.Time) string {
	return cmp.Or(Seen(pool, c, now), Reported(c))
}

// Seen is what a snapshot shows of it, without what the cloud reports.
func Seen(pool *snapshot.Pool, c *snapshot.Claim, now time.Time) string {
	switch {
	case !c.Is(snapshot.Launched):
		return ""
	case rehashed(pool, c):
		return NodePoolDrifted
	case !meets(pool, c):
		return RequirementsDrifted
	case pool.Replicas == nil && now.Sub(c.Created) >= settled && unsold(pool, c):
		return InstanceTypeNotFound
	}
	return ""
}

// Reported is the cloud's own reason, empty if it has none.
func Reported(c *snapshot.Claim) string {
	reason := c.Conditions[snapshot.Drifted].Reason
	ours := []string{NodePoolDrifted, RequirementsDrifted, InstanceTypeNotFound}
	if !c.Is(snapshot.Drifted) || slices.Contains(ours, reason) {
		return ""
	}
	return reason
}

// rehashed compares hashes that were computed in the same way; others mean
// nothing.
func rehashed(pool *snapshot.Pool, c *snapshot.Claim) bool {
	hash, version := c.Annotations[HashAnnotation], c.Annotations[VersionAnnotation]
	return hash != "" && pool.Hash != "" && version == pool.HashVersion && hash != pool.Hash
}

// meets reports whether a machine is what the pool's requirements ask for. Labels that an older
// version did not give to claims say nothing about the machine: those of the pool are part of the
// template's hash, and those of its type are known from the type.
func meets(pool *snapshot.Pool, c *snapshot.Claim) bool {
	asked := pool.Requirements.Without(slices.Collect(maps.Keys(pool.Labels))...)
	if asked.Matches(c.Labels) {
		return true
	}
	t := typeOf(pool, c)
	return t != nil && slices.DeleteFunc(slices.Clone(asked), func(r requirement.Requirement) bool {
		_, labelled := c.Labels[r.Key()]
		has, known := t.Requirements.Lookup(r.Key())
		return !labelled && known && has.Implies(r)
	}).Matches(c.Labels)
}

// typeOf is the machine's type, nil if the pool's do not have it.
func typeOf(pool *snapshot.Pool, c *snapshot.Claim) *catalog.Type {
	i := slices.IndexFunc(pool.Types, func(t *catalog.Type) bool { return t.Name == c.Labels[corev1.LabelInstanceTypeStable] })
	if i < 0 {
		return nil
	}
	return pool.Types[i]
}

// unsold reports whether the cloud has no such machine any more. A pool whose
// types are not known says nothing.
func unsold(pool *snapshot.Pool, c *snapshot.Claim) bool {
	if len(pool.Types) == 0 || c.Labels[corev1.LabelInstanceTypeStable] == "" {
		return false
	}
	t := typeOf(pool, c)
	if t == nil {
		return true
	}
	zone, sold := c.Labels[corev1.LabelTopologyZone], c.Labels[catalog.CapacityTypeLabel]
	return !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool {
		same := o.CapacityType == sold || sold == catalog.Reserved && o.CapacityType == catalog.OnDemand
		return same && (zone == "" || o.Zone == zone)
	})
}
