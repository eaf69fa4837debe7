// Package loop defines what every control loop is given. A loop is a package
// under controllers/ with one function
//
//	func Add(mgr manager.Manager, d loop.Deps) error
//
// that registers its watches and reconcilers. A loop reads from the Store (a
// snapshot for the engine) or from Client (the cache), asks the engine, and
// writes through the Writer. It keeps no state that a restart may not lose.
package loop

import (
	"context"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/controllers/notify"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/spread"
)

// Deps is what loops share. All fields are set and safe for concurrent use.
type Deps struct {
	// Client reads from the informers' cache.
	Client client.Reader
	// Live reads from the API server; for the last look before something that
	// cannot be undone.
	Live client.Reader
	// Store makes snapshots.
	Store *cluster.Store
	// Provider rents out machines.
	Provider cloud.Provider
	// Writer makes every change in Kubernetes.
	Writer *apply.Writer
	// Clock is the only clock.
	Clock clock.Clock
	// Announcements are where the cloud's announcements come from, besides Provider.
	Announcements cloud.Announcements
	// Webhook is where people are told what was done and what waits for them; nil is nowhere.
	Webhook *notify.Webhook
	// Types lists the instance types of a node class.
	Types cluster.TypesFunc
	// Settings are the tunables.
	Settings Settings
	// Metrics count what loops do; nil counts nothing.
	Metrics *metrics.Metrics
}

// Settings are tunables that loops share; controllers.Config documents them.
type Settings struct {
	// BatchIdle and BatchMax bound the wait for further pending pods before a
	// plan is made.
	BatchIdle, BatchMax time.Duration
	// Placement are the options of every plan.
	Placement placement.Options
	// NodeRepair repairs machines for which no policy says how, as behind Karpenter's
	// feature gate of that name.
	NodeRepair bool
	// NodeOverlay lets NodeOverlays count, as behind Karpenter's feature gate of that name.
	NodeOverlay bool

	// CapacityBuffer lets CapacityBuffers count, likewise.
	CapacityBuffer bool
	// Spread are the topology spread constraints of pods that state none.
	Spread spread.Defaults
	// TerminateFirstDrift is disruption's option of that name.
	TerminateFirstDrift bool
	// PodDeletionCosts is disruption's option of that name.
	PodDeletionCosts bool
	// Observe is set in a process that tells what it would do, and does nothing.
	Observe bool
	// ManagedClasses are the node-class kinds that the provider serves, as
	// group and kind; objects that refer to others are left alone.
	ManagedClasses []snapshot.ClassRef
}

// Manages reports whether the provider serves a node class of this kind.
func (d Deps) Manages(class snapshot.ClassRef) bool {
	for _, m := range d.Settings.ManagedClasses {
		if m.Group == class.Group && m.Kind == class.Kind {
			return true
		}
	}
	return false
}

// ManagesNode reports whether a Node's labels say that its class is one of the
// provider's.
func (d Deps) ManagesNode(n *corev1.Node) bool {
	for _, m := range d.Settings.ManagedClasses {
		if _, ok := n.Labels[karpv1.NodeClassLabelKey(schema.GroupKind{Group: m.Group, Kind: m.Kind})]; ok {
			return true
		}
	}
	return false
}

// Managed is a snapshot without the pools and claims whose node class belongs to
// another provider, and the requests about them: nothing of theirs may be touched.
func (d Deps) Managed(s *snapshot.Snapshot) *snapshot.Snapshot {
	f := s.Fork()
	others := map[string]bool{}
	for _, n := range s.Nodes {
		if n.Claim != nil && !d.Manages(n.Claim.Class) {
			others[n.Claim.Name] = true
		}
	}
	f.Pools = slices.DeleteFunc(f.Pools, func(p *snapshot.Pool) bool { return !d.Manages(p.Class) })
	f.Nodes = slices.DeleteFunc(f.Nodes, func(n *snapshot.Node) bool { return n.Claim != nil && others[n.Claim.Name] })
	f.Requests = slices.DeleteFunc(slices.Clone(f.Requests), func(r *snapshot.Request) bool { return others[r.Claim] })
	return f
}

// Snapshot is the cluster now, with instance types.
func (d Deps) Snapshot() *snapshot.Snapshot { return d.Store.Snapshot(d.Clock.Now(), d.Types) }

// Types adapts a provider to the store's needs.
func Types(ctx context.Context, p cloud.Provider) cluster.TypesFunc {
	return func(class snapshot.ClassRef) ([]*catalog.Type, error) { return p.InstanceTypes(ctx, class) }
}

// SetConditions writes conditions onto a copy of a claim.
func (d Deps) SetConditions(c *karpv1.NodeClaim, conditions []plan.Condition) {
	set := c.StatusConditions(status.WithClock(d.Clock))
	for _, n := range conditions {
		set.Set(status.Condition{Type: n.Type, Status: metav1.ConditionStatus(n.Status), Reason: n.Reason, Message: n.Message})
	}
}
