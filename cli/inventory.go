package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cli/target"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/servertime"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// connect makes a client for the cluster of the flags.
func connect(kube *genericclioptions.ConfigFlags) (client.Reader, error) { return connectClient(kube) }

// timed is connect, and the time by the answers of the API server that is connected to: what
// is old, or due, is so by its clock, whatever this machine's says.
func timed() (func(*genericclioptions.ConfigFlags) (client.Reader, error), clock.Clock) {
	theirs := servertime.New(clock.RealClock{}, nil)
	return func(kube *genericclioptions.ConfigFlags) (client.Reader, error) { return dial(kube, theirs.Wrap) }, theirs
}

// connectClient is connect for commands that write.
func connectClient(kube *genericclioptions.ConfigFlags) (client.Client, error) {
	return dial(kube, nil)
}

func dial(kube *genericclioptions.ConfigFlags, through transport.WrapperFunc) (client.Client, error) {
	return kubeconfig.Client(kube, through, scheme.AddToScheme, cluster.AddToScheme, doctor.AddToScheme)
}

// inventory is what was read of a cluster.
type inventory struct {
	// adding is held while an object is added.
	adding sync.Mutex
	store  *cluster.Store
	nodes  []corev1.Node
	claims []*snapshot.Claim
	now    time.Time
	// unread are the kinds that could not be read, so that what depends on them is
	// only known from conditions.
	unread []string
	// buffered says that there are CapacityBuffers that count.
	buffered bool
	slices   []*resourcev1.ResourceSlice
}

// take reads what the lifecycle depends on: NodeClaims and Nodes, and if all is
// asked for the rest, which only adds detail. Devices are read if they count, or if a
// machine waits for them, and what pods are selected by if the options give them spreads. The
// options may be asked of the cluster meanwhile. Now is asked once there is an answer; see timed.
func take(ctx context.Context, c client.Reader, now func() time.Time, all bool, ask func() (cluster.Options, error)) (*inventory, error) {
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	var options cluster.Options
	list := func(into client.ObjectList) func() error {
		return func() error {
			if err := c.List(ctx, into); err != nil {
				return fmt.Errorf("listing %ss: %w", listing.Kind(into), err)
			}
			return nil
		}
	}
	questions := []func() error{list(&claims), list(&nodes), func() (err error) { options, err = ask(); return err }}
	errs := make([]error, len(questions))
	loop.SideBySide(len(questions), func(i int) { errs[i] = questions[i]() })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	in := &inventory{store: cluster.NewStore(options), nodes: nodes.Items, now: now()}
	counts := options.Devices != nil
	for i := range claims.Items {
		in.store.Update(&claims.Items[i])
		in.claims = append(in.claims, cluster.Claim(&claims.Items[i]))
		counts = counts || lifecycle.AwaitsDevices(in.claims[i])
	}
	for i := range nodes.Items {
		in.store.Update(&nodes.Items[i])
	}
	var kinds []client.ObjectList
	if all {
		kinds = listing.Details(counts, len(options.Spread) > 0)
	}
	if err := in.add(ctx, c, kinds...); err != nil {
		return nil, err
	}
	in.store.MarkSynced()
	return in, nil
}

// noOptions are those of commands that only look at machines.
func noOptions() (cluster.Options, error) { return cluster.Options{}, nil }

// add reads kinds side by side: an API server that is busy or far away takes its time for each.
func (in *inventory) add(ctx context.Context, c client.Reader, lists ...client.ObjectList) error {
	errs := make([]error, len(lists))
	loop.SideBySide(len(lists), func(i int) { errs[i] = in.addKind(ctx, c, lists[i]) })
	for i, err := range errs {
		switch {
		case apierrors.IsForbidden(err) || meta.IsNoMatchError(err):
			in.unread = append(in.unread, listing.Kind(lists[i]))
		case err != nil:
			return fmt.Errorf("listing %s: %w", listing.Kind(lists[i]), err)
		}
	}
	return nil
}

func (in *inventory) addKind(ctx context.Context, c client.Reader, list client.ObjectList) error {
	return listing.Each(ctx, c, list, func(o client.Object) error {
		in.adding.Lock()
		defer in.adding.Unlock()
		b, ok := o.(*bufferv1beta1.CapacityBuffer)
		if ok && !explain.Counts(b) {
			return nil
		}
		in.buffered = in.buffered || ok
		in.store.Update(o)
		switch o := o.(type) {
		case *karpv1.NodePool:
			if c := o.StatusConditions().Get(cluster.LaunchesRefused); c != nil && c.IsTrue() {
				in.store.RefuseLaunches(o.Name, c.Message, in.now)
			}
		case *resourcev1.ResourceSlice:
			in.slices = append(in.slices, o)
		}
		return nil
	})
}

// machine looks at one claim as the controller would.
func (in *inventory) machine(c *snapshot.Claim) *explain.Machine {
	v := lifecycle.View{Now: in.now, Claim: c, Policy: in.store.Policy(c.Pool).Initialization, Learned: in.store.Learned(c.Pool)}
	v.Nodes, v.Foreign = c.Own(in.carrying(c.ProviderID))
	s := in.store.Snapshot(in.now, nil)
	v.Volumes, v.DaemonSets, v.Awaited = s.Volumes, s.DaemonSets, nomination.Awaited(s, c)
	name := c.NodeName
	if len(v.Nodes) == 1 {
		name = v.Nodes[0].Name
		if n := s.Node(name); n != nil {
			v.Pods = n.Pods
		}
		v.CSINode = s.Volumes.CSINodes[name]
		v.Slices = slices.DeleteFunc(slices.Clone(in.slices), func(s *resourcev1.ResourceSlice) bool { return ptr.Deref(s.Spec.NodeName, "") != name })
	}
	return &explain.Machine{Claim: c, Node: name, Step: lifecycle.Checklist(v)}
}

// find lists the machines that a name stands for: of a claim, a node or a pool.
// An empty answer comes with what is wrong.
func (in *inventory) find(kind, name string) ([]*explain.Machine, string) {
	var out []*explain.Machine
	for _, c := range in.claims {
		ofPool := kind == target.Pool && c.Pool == name && c.Deleted.IsZero()
		if ofPool || kind == target.Claim && c.Name == name || kind == target.Node && in.isNode(c, name) {
			out = append(out, in.machine(c))
		}
	}
	slices.SortFunc(out, func(a, b *explain.Machine) int { return cmp.Compare(a.Claim.Name, b.Claim.Name) })
	if len(out) > 0 {
		return out, ""
	}
	switch exists := slices.ContainsFunc(in.nodes, func(n corev1.Node) bool { return n.Name == name }); {
	case kind == target.Pool:
		return nil, fmt.Sprintf("nodepool/%s has no machines", name)
	case kind == target.Node && exists:
		if i := slices.IndexFunc(in.claims, func(c *snapshot.Claim) bool { return in.foreign(c, name) }); i >= 0 {
			return nil, fmt.Sprintf("node/%s carries the provider ID of nodeclaim/%s, whose Node is node/%s: Millwright has nothing to do with it", name, in.claims[i].Name, in.claims[i].NodeName)
		}
		return nil, fmt.Sprintf("node/%s belongs to no NodeClaim: Millwright has nothing to do with it", name)
	}
	return nil, fmt.Sprintf("%s/%s does not exist", kind, name)
}

// isNode reports whether a claim's machine is the Node of a name: not one that only carries
// its provider ID.
func (in *inventory) isNode(c *snapshot.Claim, name string) bool {
	if in.foreign(c, name) {
		return false
	}
	return slices.ContainsFunc(in.nodes, func(n corev1.Node) bool {
		return n.Name == name && (n.Spec.ProviderID == c.ProviderID && c.ProviderID != "" || n.Spec.ProviderID == "" && c.NodeName == name)
	})
}

// carrying lists the Nodes with a provider ID.
func (in *inventory) carrying(providerID string) []*corev1.Node {
	var out []*corev1.Node
	for i := range in.nodes {
		if n := &in.nodes[i]; providerID != "" && n.Spec.ProviderID == providerID {
			out = append(out, n)
		}
	}
	return out
}

// foreign reports whether a Node carries the provider ID of a claim's machine and is not its Node.
func (in *inventory) foreign(c *snapshot.Claim, name string) bool {
	_, foreign := c.Own(in.carrying(c.ProviderID))
	return slices.ContainsFunc(foreign, func(n *corev1.Node) bool { return n.Name == name })
}
