package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// joinTime is how long a launched machine that has not registered may be missing from the
// cloud's answers.
const joinTime = 2 * time.Minute

// Unlisted is a claim whose machine the cloud has not listed under its provider ID.
type Unlisted struct {
	Now   time.Time
	Claim *snapshot.Claim
	// Found is the provider ID of a machine that was launched for the claim, which the list has or
	// the claim's Node names, empty for none; Nodes are those of the claim's own.
	Found string
	Nodes []*corev1.Node
}

// Search is what is done about a claim whose machine is not listed.
type Search string

const (
	// RecallMachine restores the provider ID of the one that was found.
	RecallMachine Search = "recall"
	// AskForMachine asks the cloud for exactly this one, whose list may lag, and gives the claim
	// up if it is gone.
	AskForMachine Search = "ask"
	// GiveUpMachine gives up a claim that names none and for which none was found.
	GiveUpMachine Search = "give up"
)

// Decide says what is done; nothing is given up as long as the machine need not be listed, or its
// kubelet reports.
func (u Unlisted) Decide() Search {
	c := u.Claim
	due := c.Is(snapshot.Registered) || c.Is(snapshot.Launched) && u.Now.Sub(c.Conditions[snapshot.Launched].Since) >= joinTime
	switch {
	case !c.Deleted.IsZero() || !due:
		return ""
	case c.ProviderID == "" && u.Found != "":
		return RecallMachine
	case slices.ContainsFunc(u.Nodes, snapshot.Ready):
		return ""
	case c.ProviderID != "":
		return AskForMachine
	}
	return GiveUpMachine
}

// Ours reports whether registration has taken a Node over.
func Ours(n *corev1.Node) bool { return slices.Contains(n.Finalizers, Finalizer) }

// EndOrphan says how a machine ends that no claim accounts for, by its Nodes: the deletion
// of those that registration has taken over drains it, the pods of its other Nodes included,
// which stay until then. Without such a Node all are deleted, and it is terminated at once.
func EndOrphan(nodes []*corev1.Node) (deleted []*corev1.Node, drained bool) {
	deleted = slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return !Ours(n) })
	if len(deleted) == 0 {
		return nodes, false
	}
	return deleted, true
}
