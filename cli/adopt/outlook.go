package adopt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// report is one look at a cluster.
type report struct {
	Config
	reader client.Reader
	now    time.Time
	types  []*catalog.Type
	// kinds says what would become of the definitions; an error is that they cannot all be
	// brought up to date.
	kinds func(context.Context, io.Writer) error

	objections []string
}

// costs are those of one pool: of its machines today, and of those that would be launched if
// all pods of theirs were planned anew.
type costs struct {
	pool         string
	nodes, fresh int
	today, anew  float64
	pods         int
}

// outlook says which machines would go, and what they cost.
func (r *report) outlook(ctx context.Context, out *bytes.Buffer) error {
	objects, err := r.objects(ctx)
	if err != nil {
		return err
	}
	found, err := classes.List(ctx, r.reader)
	if err != nil {
		return fmt.Errorf("listing EC2NodeClasses: %w", err)
	}
	known, err := classes.New(r.types, found)
	if err != nil {
		return err
	}
	today := stored(objects, cluster.NewStore()).Snapshot(r.now, known.Of)
	decided := new(plan.Plan)
	disruption.Decide(today, disruption.Options{Turn: 1}).Report(today, decided)
	out.WriteString("\nOn the first day\n")
	if len(decided.Disruptions) == 0 {
		out.WriteString("  no machine would be taken away or replaced now\n")
	}
	for _, d := range decided.Disruptions {
		fmt.Fprintf(out, "  %s: %s, %d launched first, saves %s an hour\n", d.Cause, plan.Few(d.Nodes), len(d.Launch), plan.Dollars(d.Saving))
	}
	why := map[plan.Code]int{}
	for _, s := range decided.Stays {
		why[s.Reason.Code]++
	}
	for _, code := range sorted(why) {
		fmt.Fprintf(out, "  %d stay: %s\n", why[code], code)
	}
	fmt.Fprintln(out, "  machines of Karpenter's are not replaced for the change itself; budgets hold as they did")

	fresh := stored(unbound(objects, today), cluster.NewStore(cluster.Options{Offline: true})).Snapshot(r.now, known.Of)
	anew := placement.Solve(fresh, placement.Options{})
	out.WriteString("\nBill, at list prices; ANEW is what all pods would get if they were planned together\n")
	bill(out, rows(today, anew))
	fmt.Fprintf(out, "  no plan for these pods costs less than $%.3f an hour\n", anew.LowerBound)
	if len(anew.Unplaced) > 0 {
		fmt.Fprintf(out, "  %d pods run that no pool would get a machine for now: millwright plan says why\n", len(anew.Unplaced))
	}
	return nil
}

func sorted(m map[plan.Code]int) []plan.Code {
	var out []plan.Code
	for code := range m {
		out = append(out, code)
	}
	slices.SortFunc(out, func(a, b plan.Code) int { return cmp.Or(m[b]-m[a], cmp.Compare(a, b)) })
	return out
}

func rows(today *snapshot.Snapshot, anew *plan.Plan) []costs {
	var out []costs
	for _, p := range today.Pools {
		row := costs{pool: p.Name}
		for _, n := range today.Nodes {
			if n.Pool() == p.Name && !n.Deleting() {
				row.nodes++
				row.today += disruption.Price(p, n)
				for _, pod := range n.Pods {
					if moves(pod.Pod) {
						row.pods++
					}
				}
			}
		}
		for i := range anew.NewNodes {
			if n := &anew.NewNodes[i]; n.Pool == p.Name {
				row.fresh++
				row.anew += n.Choice.Offering.Price
			}
		}
		out = append(out, row)
	}
	return out
}

func stored(objects []client.Object, store *cluster.Store) *cluster.Store {
	for _, o := range objects {
		store.Update(o)
	}
	store.MarkSynced()
	return store
}

// objects are what plans depend on.
func (r *report) objects(ctx context.Context) ([]client.Object, error) {
	var out []client.Object
	for _, list := range []client.ObjectList{
		&karpv1.NodePoolList{}, &karpv1.NodeClaimList{}, &corev1.NodeList{}, &corev1.NamespaceList{}, &corev1.PodList{}, &appsv1.DaemonSetList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{}, &storagev1.CSINodeList{},
		&policyv1.PodDisruptionBudgetList{}, &v1alpha1.NodePolicyList{},
	} {
		err := r.reader.List(ctx, list)
		if _, own := list.(*v1alpha1.NodePolicyList); own && meta.IsNoMatchError(err) {
			continue // the kind comes with Millwright
		}
		if err != nil {
			return nil, fmt.Errorf("listing: %w", err)
		}
		err = meta.EachListItem(list, func(o runtime.Object) error {
			if obj, ok := o.(client.Object); ok {
				out = append(out, obj)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unbound are the objects without machines of pools, whose pods wait for a place.
func unbound(objects []client.Object, today *snapshot.Snapshot) []client.Object {
	pooled := map[string]bool{}
	for _, n := range today.Nodes {
		if n.Object != nil && n.Claim != nil {
			pooled[n.Object.Name] = true
		}
	}
	var out []client.Object
	for _, o := range objects {
		switch o := o.(type) {
		case *karpv1.NodeClaim:
		case *corev1.Node:
			if !pooled[o.Name] {
				out = append(out, o)
			}
		case *corev1.Pod:
			switch {
			case !pooled[o.Spec.NodeName]:
				out = append(out, o)
			case moves(o):
				pod := o.DeepCopy()
				pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending}
				out = append(out, pod)
			}
		default:
			out = append(out, o)
		}
	}
	return out
}

// moves says whether a pod goes elsewhere when its machine goes.
func moves(p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed &&
		(owner == nil || owner.Kind != "DaemonSet" && owner.Kind != "Node")
}
