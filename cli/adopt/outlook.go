package adopt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/bill"
	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/buffer"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
	"github.com/millwright-dev/millwright/engine/spread"
)

// report is one look at a cluster.
type report struct {
	Config
	reader client.Reader
	// clock tells the API server's time, once it has answered.
	clock clock.PassiveClock
	// dumped says that reader has objects of a file, which need not be all that there are.
	dumped bool
	types  []*catalog.Type
	// ec2 says that types are EC2's.
	ec2 bool
	// kinds says what would become of the definitions; an error is that they cannot all be
	// brought up to date.
	kinds func(context.Context, io.Writer) error

	// spread is what Karpenter is told of kube-scheduler's default constraints.
	spread     spread.Defaults
	objections []string
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
	known, err := classes.New(r.types, instancetype.DefaultSettings(), found)
	if err != nil {
		return err
	}
	today := stored(objects, cluster.NewStore(r.options())).Snapshot(r.clock.Now(), known.Of)
	decided := new(plan.Plan)
	disruption.Decide(today, disruption.Options{Turn: 1}).Report(today, decided)
	out.WriteString("\nOn the first day\n")
	for _, class := range r.strangers(today) {
		fmt.Fprintf(out, "  %s %s is planned with EC2's instance types; with --instance-types kwok it has those of Karpenter's KWOK\n", class.Kind, class.Name)
	}
	if len(decided.Disruptions) == 0 {
		out.WriteString("  no machine would be taken away or replaced now\n")
	}
	for _, d := range decided.Disruptions {
		fmt.Fprintf(out, "  %s: %s", d.Cause, plan.Few(d.Nodes))
		if len(d.Launch) > 0 {
			fmt.Fprintf(out, ", launches %s first", plan.Count(len(d.Launch), "machine"))
		}
		fmt.Fprintln(out, plan.Effect(d.Saving))
	}
	why := map[plan.Code]int{}
	for _, s := range decided.Stays {
		why[s.Reason.Code]++
	}
	for _, code := range sorted(why) {
		fmt.Fprintf(out, "  stay: %d %s\n", why[code], code)
	}
	fmt.Fprintln(out, "  machines of Karpenter's are not replaced for the change itself; budgets hold as they did")

	out.WriteString("\nBill, at list prices; SETTLED is when nothing more would be done\n")
	costs := bill.Of(bill.Input{Objects: objects, Store: stored(objects, cluster.NewStore(r.options())), Now: r.clock.Now(), Types: known.Of})
	var table bytes.Buffer
	if err := costs.Table(&table); err != nil {
		return err
	}
	indent(out, table.String())
	return nil
}

// strangers are the classes of pools that are planned with EC2's types and are not EC2's.
func (r *report) strangers(s *snapshot.Snapshot) []snapshot.ClassRef {
	var out []snapshot.ClassRef
	for _, p := range s.Pools {
		if r.ec2 && p.Class.Group != provider.Group && !slices.Contains(out, p.Class) {
			out = append(out, p.Class)
		}
	}
	return out
}

// options are those of the store: a dump is as it was read.
func (r *report) options() cluster.Options {
	return cluster.Options{Offline: r.dumped, Spread: r.spread}
}

func sorted(m map[plan.Code]int) []plan.Code {
	var out []plan.Code
	for code := range m {
		out = append(out, code)
	}
	slices.SortFunc(out, func(a, b plan.Code) int { return cmp.Or(m[b]-m[a], cmp.Compare(a, b)) })
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
	out, err := r.list(ctx,
		&karpv1.NodePoolList{}, &karpv1.NodeClaimList{}, &corev1.NodeList{}, &corev1.NamespaceList{}, &corev1.PodList{}, &appsv1.DaemonSetList{},
		&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}, &storagev1.StorageClassList{}, &storagev1.CSINodeList{},
		&policyv1.PodDisruptionBudgetList{}, &v1alpha1.NodePolicyList{}, &overlayv1alpha1.NodeOverlayList{},
	)
	if err != nil {
		return nil, err
	}
	if len(r.spread) > 0 {
		selecting, err := r.list(ctx, listing.Selecting()...)
		if err != nil {
			return nil, err
		}
		out = append(out, selecting...)
	}
	buffers, err := r.list(ctx, &bufferv1beta1.CapacityBufferList{})
	if err != nil {
		return nil, err
	}
	buffers = slices.DeleteFunc(buffers, func(o client.Object) bool { // those that no controller resolves
		return !meta.IsStatusConditionTrue(o.(*bufferv1beta1.CapacityBuffer).Status.Conditions, buffer.ReadyForProvisioning)
	})
	if len(buffers) == 0 {
		return out, nil
	}
	templates, err := r.list(ctx, &corev1.PodTemplateList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.ReplicaSetList{})
	return slices.Concat(out, buffers, templates), err
}

// list reads all objects of kinds.
func (r *report) list(ctx context.Context, kinds ...client.ObjectList) ([]client.Object, error) {
	var out []client.Object
	for _, list := range kinds {
		err := listing.Each(ctx, r.reader, list, func(o client.Object) error {
			out = append(out, o)
			return nil
		})
		if _, ours := list.(*v1alpha1.NodePolicyList); ours && meta.IsNoMatchError(err) {
			continue // the kind comes with Millwright
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", listing.Kind(list), err)
		}
	}
	return out, nil
}
