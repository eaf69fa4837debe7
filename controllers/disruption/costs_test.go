package disruption

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/disruption"
)

// busy is a rig with two machines that have so many pods each of one ReplicaSet.
func busy(t *testing.T, pods int) *looptest.Rig {
	objects := []client.Object{pool(func(np *karpv1.NodePool) {
		np.Spec.Disruption.ConsolidationPolicy = karpv1.ConsolidationPolicyWhenEmpty
	})}
	for _, name := range []string{"a", "b"} {
		claim, node := machine(name)
		objects = append(objects, claim, node)
		for i := range pods {
			p := podOn(name, fmt.Sprintf("web-%s-%d", name, i))
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}}
			objects = append(objects, p)
		}
	}
	return rig(t, objects...)
}

// podsByCost counts the pods with each deletion cost.
func podsByCost(t *testing.T, r *looptest.Rig) map[string]int {
	t.Helper()
	var list corev1.PodList
	r.Must(r.Client.List(ctx, &list))
	out := map[string]int{}
	for _, p := range list.Items {
		out[p.Annotations[corev1.PodDeletionCost]]++
	}
	return out
}

func TestPodsHaveDeletionCosts(t *testing.T) {
	r := busy(t, 3)
	d := New(r.Deps, disruption.Options{PodDeletionCosts: true})
	pass(t, r, d)
	if got := podsByCost(t, r); len(got) != 2 || got["-11184811"] != 3 || got["-5592406"] != 3 {
		t.Errorf("pods by cost: %v", got)
	}
	writes := r.API.Writes
	pass(t, r, d)
	if r.API.Writes != writes {
		t.Errorf("%d writes although nothing has changed", r.API.Writes-writes)
	}
}

func TestDeletionCostsAreRationed(t *testing.T) {
	r := busy(t, costsBurst)
	d := New(r.Deps, disruption.Options{PodDeletionCosts: true})
	pass(t, r, d)
	if got := podsByCost(t, r); got[""] != costsBurst || got["-11184811"] != costsBurst {
		t.Errorf("pods by cost: %v, want those of the machine that goes first", got)
	}
	r.Clock.Step(2 * time.Second)
	pass(t, r, d)
	if got := podsByCost(t, r); got["-11183787"] != 2*costsPerSecond {
		t.Errorf("pods by cost two seconds later: %v", got)
	}
}

func TestWhatIsRefusedIsNotAskedForAgainAtOnce(t *testing.T) {
	r := busy(t, 3)
	d := New(r.Deps, disruption.Options{PodDeletionCosts: true})
	asked := 0
	r.API.Before = func(_ string, o client.Object) error {
		if _, is := o.(*corev1.Pod); !is {
			return nil
		}
		asked++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("no such right"))
	}
	for _, at := range []struct {
		wait time.Duration
		asks int
	}{{0, 1}, {costsPause - 1, 1}, {1, 2}} {
		r.Clock.Step(at.wait)
		r.Sync()
		before := asked
		_, err := d.Pass(ctx)
		if told := err != nil && strings.Contains(err.Error(), "writing the deletion cost of pod default/web-a-0"); told != (asked > before) || asked != at.asks {
			t.Errorf("%s later: asked %d times, want %d, error %v", at.wait, asked, at.asks, err)
		}
	}
}
