package drain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// role is what a pod is to the drain of its node.
type role int

const (
	ended      role = iota // its containers have ended and nothing keeps it
	mirror                 // the kubelet's own
	stays                  // tolerates the taint
	agent                  // the node needs it
	leaving                // has to go
	held                   // has ended; finalizers keep it
	stuck                  // should have ended and is given up
	leftBehind             // was still there at the deadline
)

// waits reports whether the machine has to wait for pods of that role.
func (r role) waits() bool { return r == leaving || r == held }

// remains reports whether pods of that role use their volumes until the machine
// goes.
func (r role) remains() bool { return r == mirror || r == stays || r == agent }

type member struct {
	pod  *corev1.Pod
	role role
	// why the node needs it, for agents.
	why string
	// silent says that the kubelet of its Node does not answer.
	silent bool
}

// roster are the pods of an instance, by namespace and name.
type roster []member

func newRoster(v View) roster {
	var out roster
	for _, n := range v.nodes() {
		v.Node = n
		needed := agents(v)
		for _, p := range n.Pods {
			out = append(out, member{pod: p.Pod, role: v.roleOf(p.Pod, needed[p.Pod] != ""), why: needed[p.Pod], silent: !snapshot.Ready(n.Object)})
		}
	}
	slices.SortFunc(out, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	return out
}

func (v View) roleOf(p *corev1.Pod, needed bool) role {
	answers := snapshot.Ready(v.Node.Object)
	switch {
	case eviction.Terminal(p) && !eviction.Held(p, v.Now):
		return ended
	case eviction.Mirror(p):
		return mirror
	case eviction.Stays(p):
		return stays
	case needed:
		return agent
	case v.late() && eviction.Terminating(p) && !v.Now.Before(p.DeletionTimestamp.Time):
		return leftBehind
	case eviction.Held(p, v.Now) && answers:
		return held
	case eviction.Stuck(p, v.Now) || eviction.Held(p, v.Now):
		return stuck
	}
	return leaving
}

// late reports whether the deadline has passed.
func (v View) late() bool { return !v.Deadline.IsZero() && !v.Now.Before(v.Deadline) }
