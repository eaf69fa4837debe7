package agreement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Outcome is the cluster that a plan comes to.
type Outcome struct {
	// Existing are the machines that are there or on their way, New those that the
	// plan launches.
	Existing, New []Machine
	// Unplaced are the pods for which the plan knows no place.
	Unplaced   []*corev1.Pod
	Storage    Storage
	Namespaces []*corev1.Namespace
}

// Machine is a node with its pods.
type Machine struct {
	Node *corev1.Node
	CSI  *storagev1.CSINode
	// Certain is whether the machine is launched.
	Certain bool
	// Running are there already, Daemons start with the node, Planned are those that
	// the plan puts there.
	Running, Daemons, Planned []*corev1.Pod
}

// Choose says as which of its alternatives a new machine is launched.
type Choose func(n *plan.NewNode) catalog.Choice

// Cheapest is the machine that the plan counts on.
func Cheapest(n *plan.NewNode) catalog.Choice { return n.Choice }

// NewOutcome carries out a plan. Machines that are being deleted are gone, with the
// pods that the plan did not move.
func NewOutcome(ctx context.Context, s *snapshot.Snapshot, p *plan.Plan, choose Choose) (*Outcome, error) {
	b := &builder{ctx: ctx, snap: s, outcome: &Outcome{Storage: storageOf(&s.Volumes)}}
	for _, name := range namespacesOf(s) {
		labels := map[string]string{corev1.LabelMetadataName: name} // by the API server
		maps.Copy(labels, s.Namespaces[name])
		b.outcome.Namespaces = append(b.outcome.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	for _, n := range s.Nodes {
		if !n.Deleting() {
			b.existing(n, p)
		}
	}
	for i := range p.NewNodes {
		b.launch(&p.NewNodes[i], choose(&p.NewNodes[i]), fmt.Sprintf("new-%d", i))
	}
	for _, u := range p.Unplaced {
		b.outcome.Unplaced = append(b.outcome.Unplaced, b.pod(u.Pod.Pod))
	}
	return b.outcome, b.err
}

func namespacesOf(s *snapshot.Snapshot) []string {
	out := slices.Collect(maps.Keys(s.Namespaces))
	for _, p := range s.Pending {
		out = append(out, p.Namespace)
	}
	for _, n := range s.Nodes {
		for _, p := range n.Pods {
			out = append(out, p.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type builder struct {
	ctx     context.Context
	snap    *snapshot.Snapshot
	outcome *Outcome
	err     error // the first
}

// pod is a pod as the API server has it, on no node.
func (b *builder) pod(p *corev1.Pod) *corev1.Pod {
	out, err := admit(b.ctx, p)
	if err != nil && b.err == nil {
		b.err = err
	}
	out.Spec.NodeName = ""
	b.outcome.Storage.addEphemeral(out)
	return out
}

func (b *builder) existing(n *snapshot.Node, p *plan.Plan) {
	m := Machine{Node: b.node(n), CSI: b.snap.Volumes.CSINodes[n.Name], Certain: n.Claim == nil || n.Claim.ProviderID != ""}
	if m.CSI == nil {
		m.CSI = csiNode(n.Name, b.limitsOf(n, m.Node))
	}
	for _, r := range n.Pods {
		if !r.Terminal() {
			m.Running = append(m.Running, b.pod(r.Pod))
		}
	}
	m.Daemons = b.daemons(m.Node, n.Pods)
	for _, x := range p.Placements {
		if x.Node == n {
			m.Planned = append(m.Planned, b.pod(x.Pod.Pod))
		}
	}
	b.outcome.Existing = append(b.outcome.Existing, m)
}

// node is a machine once it is ready. What the claim of a machine that is not
// launched yet leaves open is one of the values that it allows.
func (b *builder) node(n *snapshot.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: maps.Clone(n.Labels())}}
	if !n.Registered() {
		for _, r := range n.Guaranteed() {
			if !r.Absent() {
				out.Labels[r.Key()] = someValue(r)
			}
		}
		out.Labels[corev1.LabelHostname] = n.Name
	}
	out.Spec.Taints = n.Taints()
	out.Spec.Unschedulable = n.Object != nil && n.Object.Spec.Unschedulable
	out.Status.Allocatable = n.Allocatable()
	return out
}

func (b *builder) limitsOf(n *snapshot.Node, object *corev1.Node) map[string]int64 {
	if pool := b.snap.Pool(n.Pool()); pool != nil {
		for _, t := range pool.Types {
			if t.Name == object.Labels[corev1.LabelInstanceTypeStable] {
				return t.AttachLimits
			}
		}
	}
	return nil
}

func (b *builder) launch(n *plan.NewNode, as catalog.Choice, name string) {
	pool := b.snap.Pool(n.Pool)
	labels := as.Labels()
	for _, r := range n.Requirements {
		if _, ok := labels[r.Key()]; !ok && !r.Absent() {
			labels[r.Key()] = someValue(r)
		}
	}
	labels[snapshot.PoolLabel], labels[corev1.LabelHostname] = n.Pool, name
	labels[snapshot.RegisteredLabel], labels[snapshot.InitializedLabel] = "true", "true"
	labels[pool.Class.Group+"/"+strings.ToLower(pool.Class.Kind)] = pool.Class.Name
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	node.Spec.Taints = pool.Taints
	node.Status.Allocatable = as.Type.Allocatable()
	m := Machine{Node: node, CSI: csiNode(name, as.Type.AttachLimits), Daemons: b.daemons(node, nil)}
	for _, p := range n.Pods {
		m.Planned = append(m.Planned, b.pod(p.Pod))
	}
	b.outcome.New = append(b.outcome.New, m)
}

// someValue is a value that a requirement allows.
func someValue(r requirement.Requirement) string {
	low, _, bounded := r.Bounds()
	switch {
	case r.Finite() && len(r.Values()) > 0:
		return r.Values()[0]
	case bounded:
		return strconv.FormatInt(max(low, 0), 10)
	}
	return "made-up"
}

func csiNode(name string, limits map[string]int64) *storagev1.CSINode {
	out := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, driver := range slices.Sorted(maps.Keys(limits)) {
		out.Spec.Drivers = append(out.Spec.Drivers, storagev1.CSINodeDriver{
			Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(int32(limits[driver]))}})
	}
	return out
}

// daemons are the pods that the DaemonSet controller makes for a node.
func (b *builder) daemons(node *corev1.Node, there []*snapshot.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, d := range b.snap.DaemonSets {
		set := &appsv1.DaemonSet{ObjectMeta: d.ObjectMeta}
		template := b.pod(d.Pod.Pod)
		set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec}
		if should, _ := daemon.NodeShouldRunDaemonPod(klog.FromContext(b.ctx), node, set); should && !runs(d.Name, there) {
			p := daemon.NewPod(set, "")
			p.Name = d.Name + "-" + node.Name
			p.UID = "uid-" + template.UID
			out = append(out, p)
		}
	}
	return out
}

func runs(daemonSet string, pods []*snapshot.Pod) bool {
	return slices.ContainsFunc(pods, func(p *snapshot.Pod) bool {
		return !p.Terminal() && slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "DaemonSet" && o.Name == daemonSet
		})
	})
}
