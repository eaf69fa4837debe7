package repair

import (
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// TerminationAnnotation is when the drain of a machine ends whatever holds it,
// RFC 3339, in Karpenter's words.
const TerminationAnnotation = "karpenter.sh/nodeclaim-termination-timestamp"

// sooner reports whether a deadline is before the one that a claim has.
func sooner(c *snapshot.Claim, deadline time.Time) bool {
	has, err := time.Parse(time.RFC3339, c.Annotations[TerminationAnnotation])
	return err != nil || deadline.Truncate(time.Second).Before(has)
}

// objects name a machine: its Node, its claim, and the agent that crashes there.
func objects(n *snapshot.Node, f *Finding) []plan.ObjectRef {
	out := plan.MachineRefs(n)
	if f.Object.Kind != "" {
		out = append(out, f.Object)
	}
	return out
}

func poolRef(n *snapshot.Node) []plan.ObjectRef {
	if n.Claim.Pool == "" {
		return nil
	}
	return []plan.ObjectRef{plan.PoolRef(n.Claim.Pool)}
}
