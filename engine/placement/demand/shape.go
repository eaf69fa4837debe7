package demand

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Shape is what the rules make of a pod's constraints: shapes of different
// workloads that come to the same are one.
type Shape struct {
	// Key is equal for shapes that are treated alike, whatever the pods are
	// called.
	Key string
	// Node is what the node has to be, for volumes included.
	*Node
	// Members are the pods of a unit, nil for a shape of single pods.
	Members []Member
	// present are the tokens of host ports and disks that the pod brings onto its node,
	// conflicts those that it cannot be with there.
	present, conflicts []pack.Token
	// Memberships are the shape's parts in rules about who is near.
	Memberships []Membership
	// Preferences are what the pods would rather have, the heaviest first.
	Preferences []Preference
	// Base is what the shape demanded of nodes before it was bound to a domain, nil if it
	// was not. Shapes that are bound alike are one, whatever workloads they were bound for.
	Base *Node
	// Refused says why no node at all will do, nil if one may.
	Refused []plan.Reason
}

// rules lists every one of Kubernetes' rules that depends on more than amounts, in the
// order in which their refusals are reported. Each adds what it demands to a shape that is
// being made, and may refuse it. Taints and labels need no refusal: they are looked at for
// each machine.
var rules = []func(b *Batch, from *snapshot.Shape, to *Shape){
	addTerms, addVolumes, addExclusives, refuseDevices, addPodTopology, addPreferences,
}

func addTerms(_ *Batch, from *snapshot.Shape, to *Shape) {
	to.Node = NodeOf(from.Terms, from.Tolerations)
	to.Paused = from.Paused
	if from.Invalid != "" {
		to.refuse(plan.Reason{Code: plan.ConstraintsInvalid, Have: from.Invalid})
	}
}

func refuseDevices(_ *Batch, from *snapshot.Shape, to *Shape) {
	for _, d := range from.Devices {
		kind := "ResourceClaim"
		if d.Template {
			kind = "ResourceClaimTemplate"
		}
		why := cmp.Or(d.Why, "that takes ignore-dra-requests=false")
		to.refuse(plan.Reason{
			Code: plan.ConstraintUnsupported, Want: "dynamic resource allocation", Have: why,
			Objects: []plan.ObjectRef{{Kind: kind, Namespace: from.Namespace, Name: d.Name}},
		})
	}
}

func addVolumes(b *Batch, from *snapshot.Shape, to *Shape) {
	if b.Volumes == nil {
		return
	}
	wanted, reason := b.Volumes.Resolve(from)
	if reason != nil {
		to.refuse(*reason)
		return
	}
	b.storage[from] = wanted
	node := to.And(&Node{Terms: wanted.Terms})
	if len(node.Terms) == 0 {
		to.refuse(plan.Reason{
			Code:    plan.VolumeClaimUnusable,
			Objects: []plan.ObjectRef{{Kind: "PersistentVolumeClaim", Namespace: from.Namespace, Name: from.VolumeClaims[0].Name}},
			Have:    fmt.Sprintf("the pod's volumes need %s, the pod demands %s", Alternatives(wanted.Terms), Alternatives(to.Terms)),
		})
		return
	}
	to.Node = node
}

// Alternatives prints terms of which one has to hold.
func Alternatives(terms []requirement.Set) string {
	parts := make([]string, len(terms))
	for i, t := range terms {
		parts[i] = t.String()
	}
	return strings.Join(parts, ", or ")
}

func (sh *Shape) refuse(r plan.Reason) { sh.Refused = append(sh.Refused, r) }

// identify writes down everything that makes a difference.
func (sh *Shape) identify() {
	k := append(make(key, 0, len(sh.Node.Key())+keySize), sh.Node.Key()...)
	for _, m := range sh.Members {
		k.text(m.Shape.Key)
		k.number(m.Count)
	}
	k.text(fmt.Sprint(sh.present, sh.conflicts))
	for _, r := range sh.Memberships {
		k.text(fmt.Sprint(r))
	}
	for _, p := range sh.Preferences {
		k.text(fmt.Sprint(p.Weight, p.Rule))
		if p.Node != nil {
			k.text(p.Node.Key())
		}
	}
	for _, r := range sh.Refused {
		k.text(fmt.Sprint(r))
	}
	if sh.Base != nil {
		k.text(sh.Base.Key())
	}
	sh.Key = string(k)
}

// Family is what packing has to know of the shape.
func (b *Batch) Family(sh *Shape) pack.Family {
	present, conflicts := b.PodTopology.Tokens(sh.Memberships)
	return pack.Family{
		Present: slices.Concat(sh.present, present), Conflicts: slices.Concat(sh.conflicts, conflicts), Caps: b.PodTopology.caps(sh),
	}
}

// TokensOf are what a pod that runs has on its node.
func (b *Batch) TokensOf(from *snapshot.Shape) []pack.Token {
	used, _ := b.exclusives.tokens(uses(from))
	present, _ := b.PodTopology.Tokens(b.PodTopology.MembershipsOf(from))
	return slices.Concat(used, present)
}
