package agreement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"

	"github.com/millwright-dev/millwright/engine/spread"
)

// Services and controllers select pods of two namespaces in all ways: kube-scheduler deduces the
// selectors that pods without a spread get.
func TestKubeSchedulerDeducesTheSameSelectorsForDefaultSpreads(t *testing.T) {
	c := newCourt(t)
	deduced := 0
	for seed := c.first; seed < c.first+worlds; seed++ {
		r := &random{rand.New(rand.NewPCG(seed, 3))}
		stores := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		core, apps := stores.Core().V1(), stores.Apps().V1()
		put := func(into cache.SharedIndexInformer, o any) {
			if err := into.GetIndexer().Add(o); err != nil {
				t.Fatal(err)
			}
		}
		services, owners := map[string][]map[string]string{}, map[string]*metav1.LabelSelector{}
		for i := range 6 {
			s := &corev1.Service{ObjectMeta: r.meta("s", i), Spec: corev1.ServiceSpec{Selector: r.labels()}}
			put(core.Services().Informer(), s)
			services[s.Namespace] = append(services[s.Namespace], s.Spec.Selector)
			rc := &corev1.ReplicationController{ObjectMeta: r.meta("c", i), Spec: corev1.ReplicationControllerSpec{Selector: r.labels()}}
			put(core.ReplicationControllers().Informer(), rc)
			owners["v1 ReplicationController "+rc.Namespace+"/"+rc.Name] = &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}
			rs := &appsv1.ReplicaSet{ObjectMeta: r.meta("c", i), Spec: appsv1.ReplicaSetSpec{Selector: r.selector()}}
			put(apps.ReplicaSets().Informer(), rs)
			owners["apps/v1 ReplicaSet "+rs.Namespace+"/"+rs.Name] = rs.Spec.Selector
			ss := &appsv1.StatefulSet{ObjectMeta: r.meta("c", i), Spec: appsv1.StatefulSetSpec{Selector: r.selector()}}
			put(apps.StatefulSets().Informer(), ss)
			owners["apps/v1 StatefulSet "+ss.Namespace+"/"+ss.Name] = ss.Spec.Selector
		}
		deduce := func(p *corev1.Pod) labels.Selector {
			return helper.DefaultSelector(p, core.Services().Lister(), core.ReplicationControllers().Lister(), apps.ReplicaSets().Lister(), apps.StatefulSets().Lister())
		}
		for range 10 {
			pod := r.pod()
			want := deduce(pod)
			if !want.Matches(labels.Set(pod.Labels)) {
				continue // a controller lets go of a pod that it does not select
			}
			got := labels.Everything()
			var owner *metav1.LabelSelector
			if ref := metav1.GetControllerOf(pod); ref != nil {
				owner = owners[ref.APIVersion+" "+ref.Kind+" "+pod.Namespace+"/"+ref.Name]
			}
			if about := spread.Selector(pod.Labels, slices.Values(services[pod.Namespace]), owner); about != nil {
				deduced++
				var err error
				if got, err = metav1.LabelSelectorAsSelector(about); err != nil {
					t.Fatal(err)
				}
			}
			for range 20 {
				if other := labels.Set(r.labels()); got.Empty() != want.Empty() || got.Matches(other) != want.Matches(other) {
					t.Fatalf("seed %d: for a pod with %v of %v it is %q, kube-scheduler has %q", seed, pod.Labels, pod.OwnerReferences, got, want)
				}
			}
		}
	}
	if deduced < worlds {
		t.Errorf("%d selectors in %d clusters: this says little", deduced, worlds)
	}
}

// random makes objects of few names and labels, so that many meet.
type random struct{ *rand.Rand }

func (r *random) namespace() string { return [...]string{"default", "other"}[r.IntN(2)] }

func (r *random) meta(name string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: r.namespace(), Name: fmt.Sprint(name, i)}
}

// labels are nil, empty or some.
func (r *random) labels() map[string]string {
	if r.IntN(8) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, key := range []string{"app", "tier", "track"} {
		if n := r.IntN(4); n > 0 {
			out[key] = fmt.Sprint(n % 2)
		}
	}
	return out
}

func (r *random) selector() *metav1.LabelSelector {
	out := &metav1.LabelSelector{MatchLabels: r.labels()}
	if r.IntN(2) == 0 {
		op := [...]metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[r.IntN(2)]
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: "track", Operator: op})
	}
	if r.IntN(6) == 0 {
		return nil
	}
	return out
}

// pod has a controller of its namespace or of none.
func (r *random) pod() *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace(), Name: "p", Labels: r.labels()}}
	kinds := [][2]string{{"v1", "ReplicationController"}, {"apps/v1", "ReplicaSet"}, {"apps/v1", "StatefulSet"}, {"apps.kruise.io/v1beta1", "StatefulSet"}, {"batch/v1", "Job"}}
	if n := r.IntN(len(kinds) + 1); n < len(kinds) {
		out.OwnerReferences = []metav1.OwnerReference{{APIVersion: kinds[n][0], Kind: kinds[n][1], Name: fmt.Sprint("c", r.IntN(6)), Controller: new(r.IntN(4) > 0)}}
	}
	return out
}
