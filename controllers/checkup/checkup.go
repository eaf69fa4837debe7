package checkup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/metrics"
	"github.com/millwright-dev/millwright/doctor"
)

// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools,verbs=get;list;watch
// +kubebuilder:rbac:groups=karpenter.sh,resources=nodepools/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=csidrivers;storageclasses,verbs=list;watch

// Interval is the time between two examinations: what they look at changes by people's hands.
const Interval = time.Minute

const name = "nodepool.checkup"

// Misconfigured is the type of a NodePool's condition that is True while something serious is
// found of it; a pool of which nothing is found does not have it.
const Misconfigured = "Misconfigured"

// Examiner examines the cluster. It is not safe for concurrent use.
type Examiner struct{ loop.Deps }

// Add registers the loop, on the leader.
func Add(mgr manager.Manager, d loop.Deps) error { return mgr.Add(&Examiner{d}) }

// Start examines until the context ends.
func (e *Examiner) Start(ctx context.Context) error {
	return e.Every(metrics.WithController(ctx, name), Interval/6, Interval, "examining the cluster", e.Examine)
}

// Examine examines the cluster once, and says what it finds.
func (e *Examiner) Examine(ctx context.Context) error {
	if !e.Store.Synced() {
		return nil
	}
	objects, pools, err := e.read(ctx)
	if err != nil {
		return err
	}
	found := doctor.Examine(doctor.New(objects, false))
	count := map[metrics.Finding]int{}
	for _, f := range found {
		count[metrics.Finding{Check: f.Check, Severity: string(f.Severity)}]++
	}
	e.Metrics.Findings(count)
	serious := doctor.SeriousByPool(found)
	var failed []error
	for i := range pools {
		if e.Manages(cluster.ClassRef(pools[i].Spec.Template.Spec.NodeClassRef)) {
			failed = append(failed, e.say(ctx, &pools[i], serious[pools[i].Name]))
		}
	}
	return errors.Join(failed...)
}

// read lists what is watched.
func (e *Examiner) read(ctx context.Context) ([]client.Object, []karpv1.NodePool, error) {
	var out []client.Object
	pools := &karpv1.NodePoolList{}
	for _, list := range []client.ObjectList{
		pools, &v1alpha1.NodePolicyList{}, &appsv1.DaemonSetList{}, &policyv1.PodDisruptionBudgetList{},
		&storagev1.StorageClassList{}, &storagev1.CSIDriverList{}, &corev1.NodeList{},
	} {
		if err := e.Client.List(ctx, list); err != nil {
			return nil, nil, fmt.Errorf("listing what is examined: %w", err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			if object, ok := o.(client.Object); ok {
				out = append(out, object)
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("listing what is examined: %w", err)
		}
	}
	return out, pools.Items, nil
}

// say writes onto a pool what is found of it, if that is not what it says already.
func (e *Examiner) say(ctx context.Context, np *karpv1.NodePool, found []doctor.Finding) error {
	now := np.StatusConditions().Get(Misconfigured)
	if np.DeletionTimestamp != nil || len(found) == 0 && now == nil {
		return nil
	}
	_, err := e.Writer.Pool(ctx, np, func(np *karpv1.NodePool) {
		conditions := np.StatusConditions(status.WithClock(e.Clock))
		if len(found) == 0 {
			_ = conditions.Clear(Misconfigured) // it refuses only conditions that Ready depends on
			return
		}
		conditions.Set(status.Condition{Type: Misconfigured, Status: metav1.ConditionTrue, Reason: reason(found[0].Check), Message: message(found)})
	})
	if loop.Overtaken(err) {
		return nil // the next look sees the newer state
	}
	return client.IgnoreNotFound(err)
}

// shown is how many findings a condition names.
const shown = 3

func message(found []doctor.Finding) string {
	var parts []string
	for _, f := range found[:min(shown, len(found))] {
		parts = append(parts, fmt.Sprintf("%s: %s: %s", f.Object, f.Field, f.Message))
	}
	if more := len(found) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ") + "; millwright doctor has the fix"
}

// reason is the name of a check as reasons of conditions are written: AgentShutOut.
func reason(check string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(check, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
