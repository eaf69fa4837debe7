package placement

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/placement/pack"
	"github.com/millwright-dev/millwright/engine/placement/ports"
	"github.com/millwright-dev/millwright/engine/placement/volumes"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// shape is what the rules make of a pod's constraints: shapes of different
// workloads that come to the same are one.
type shape struct {
	// key is equal for shapes that are treated alike, whatever the pods are
	// called.
	key string
	// terms are the alternatives for the node, those of volumes included.
	terms []requirement.Set
	// tolerations are the pod's.
	tolerations []corev1.Toleration
	// ports are taken on the node, clashes are the ports that cannot be there.
	ports, clashes []ports.Token
	// attach is the number of volumes by CSI driver.
	attach map[string]int64
	// roles are the shape's parts in rules about who is near.
	roles []role
	// base is the shape before it was bound to a domain, nil if it was not.
	base *shape
	// refused says why no node at all will do, nil if one may.
	refused []plan.Reason
}

// rule is one of Kubernetes' rules. It adds what the rule demands to a shape that
// is being made, and may refuse it.
type rule struct {
	name string
	add  func(b *batch, from *snapshot.Shape, to *shape)
}

// rules lists every rule that depends on more than amounts, in the order in
// which their refusals are reported. Taints and labels need no refusal: they are
// looked at for each machine.
var rules = []rule{
	{"constraints", addTerms},
	{"volumes", addVolumes},
	{"host ports", addPorts},
	{"devices", refuseDevices},
	{"topology", addCompany},
}

func addTerms(_ *batch, from *snapshot.Shape, to *shape) {
	to.terms, to.tolerations = from.Terms, from.Tolerations
	if from.Invalid != "" {
		to.refuse(plan.Reason{Code: plan.ConstraintsInvalid, Have: from.Invalid})
	}
}

func addPorts(b *batch, from *snapshot.Shape, to *shape) { to.ports = b.ports.Add(from.HostPorts) }

func refuseDevices(_ *batch, from *snapshot.Shape, to *shape) {
	if from.Devices {
		to.refuse(plan.Reason{Code: plan.ConstraintUnsupported, Want: "resource claims (dynamic resource allocation)"})
	}
}

func addVolumes(b *batch, from *snapshot.Shape, to *shape) {
	if len(from.VolumeClaims) == 0 {
		return
	}
	demand, reason := volumes.Resolve(from.Namespace, from.VolumeClaims, &b.snap.Volumes)
	if reason != nil {
		to.refuse(*reason)
		return
	}
	to.attach = demand.Attach
	terms := volumes.Combine(to.terms, demand.Terms)
	if len(terms) == 0 {
		to.refuse(plan.Reason{
			Code:    plan.VolumeClaimUnusable,
			Objects: []plan.ObjectRef{{Kind: "PersistentVolumeClaim", Namespace: from.Namespace, Name: from.VolumeClaims[0].Name}},
			Have:    fmt.Sprintf("the pod's volumes need %s, the pod demands %s", alternatives(demand.Terms), alternatives(to.terms)),
		})
		return
	}
	to.terms = terms
}

// alternatives prints terms of which one has to hold.
func alternatives(terms []requirement.Set) string {
	parts := make([]string, len(terms))
	for i, t := range terms {
		parts[i] = t.String()
	}
	return strings.Join(parts, ", or ")
}

func (sh *shape) refuse(r plan.Reason) { sh.refused = append(sh.refused, r) }

// identify writes down everything that makes a difference.
func (sh *shape) identify(table *ports.Table) {
	var buf []byte
	text := func(s string) {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	buf = binary.AppendUvarint(buf, uint64(len(sh.terms)))
	for _, t := range sh.terms {
		text(t.String())
	}
	buf = binary.AppendUvarint(buf, uint64(len(sh.tolerations)))
	for _, t := range sh.tolerations {
		text(t.Key)
		text(string(t.Operator))
		text(t.Value)
		text(string(t.Effect))
	}
	buf = binary.AppendUvarint(buf, uint64(len(sh.ports)))
	for _, p := range sh.ports {
		text(fmt.Sprint(table.Port(p)))
	}
	for _, r := range sh.roles {
		text(fmt.Sprint(r))
	}
	for _, r := range sh.refused {
		text(fmt.Sprint(r))
	}
	if sh.base != nil {
		text(sh.base.key)
	}
	sh.key = string(buf)
}

// family is what packing has to know of the shape.
func (b *batch) family(sh *shape) pack.Family {
	f := pack.Family{Present: sh.ports, Conflicts: sh.clashes}
	if b.company != nil && len(sh.roles) > 0 {
		present, conflicts := b.company.tokens(sh.roles)
		f.Present, f.Conflicts = slices.Concat(f.Present, present), slices.Concat(f.Conflicts, conflicts)
		f.Caps = b.company.caps(sh.roles)
	}
	return f
}
