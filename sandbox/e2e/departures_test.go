package e2e

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/millwright-dev/millwright/engine/eviction"
)

// departures remembers every change of Nodes and NodeClaims by which a machine comes
// to use up a budget, or no longer does: it uses one up while its Node is marked or
// its claim is being deleted, until its instance is being terminated. The changes
// are put in the API server's order, so that what is said of an instant is true of
// it, however late a watch was.
type departures struct {
	c       *cluster
	mu      sync.Mutex
	changes []departure
}

// departure is what one change says of a machine.
type departure struct {
	revision                int64
	seen                    time.Time
	machine                 string
	ofNode                  bool
	marked, deleting, ended bool
}

// watchDepartures follows all machines until the test ends.
func (c *cluster) watchDepartures() *departures {
	c.Helper()
	d := &departures{c: c}
	nodes, err := c.client.CoreV1().Nodes().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	claims, err := c.dynamic.Resource(nodeClaims).List(c.Context(), metav1.ListOptions{})
	c.must(err)
	d.follow(nodes.ResourceVersion, c.client.CoreV1().Nodes().Watch, func(kind watch.EventType, obj runtime.Object) departure {
		n := obj.(*corev1.Node)
		return departure{revision: revision(n), machine: n.Name, ofNode: true, marked: kind != watch.Deleted && eviction.Marked(n)}
	})
	d.follow(claims.GetResourceVersion(), c.dynamic.Resource(nodeClaims).Watch, func(kind watch.EventType, obj runtime.Object) departure {
		claim := obj.(*unstructured.Unstructured)
		return departure{
			revision: revision(claim), machine: claim.GetName(), deleting: claim.GetDeletionTimestamp() != nil,
			ended: kind == watch.Deleted || condition(claim, "InstanceTerminating"),
		}
	})
	return d
}

func (d *departures) follow(revision string, from watches, read func(watch.EventType, runtime.Object) departure) {
	d.c.Helper()
	d.c.Cleanup(d.c.changes(revision, from, func(kind watch.EventType, obj runtime.Object) {
		change := read(kind, obj)
		change.seen = time.Now()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changes = append(d.changes, change)
	}))
}

// most is how many of some machines were on their way out at the same time before
// an instant, and which these were.
func (d *departures) most(before time.Time, machines []string) (int, string) {
	d.mu.Lock()
	changes := slices.SortedFunc(slices.Values(d.changes), func(a, b departure) int { return cmp.Compare(a.revision, b.revision) })
	d.mu.Unlock()
	nodes, claims := map[string]departure{}, map[string]departure{}
	var worst []string
	for _, change := range changes {
		if change.seen.After(before) {
			break
		}
		if change.ofNode {
			nodes[change.machine] = change
		} else {
			claims[change.machine] = change
		}
		var now []string
		for _, m := range machines {
			if !claims[m].ended && (nodes[m].marked || claims[m].deleting) {
				now = append(now, m)
			}
		}
		if len(now) > len(worst) {
			worst = now
		}
	}
	return len(worst), strings.Join(worst, ", ")
}
