package demand

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestPodsAreSortedByNamespaceAndName(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	heads := []string{"", "a", "web-", "web-7d9c5f8b4-", "\x00"}
	class := new(snapshot.Classes).Pod(&corev1.Pod{}).Class
	for range 200 {
		pods := make([]*snapshot.Pod, rng.IntN(40))
		for i := range pods {
			pod := &corev1.Pod{}
			pod.Namespace = []string{"default", "kube-system"}[rng.IntN(2)]
			pod.Name = heads[rng.IntN(len(heads))] + fmt.Sprint(rng.IntN(1000))[:rng.IntN(2)]
			pod.Name += fmt.Sprint(rng.Uint64N(1 << 40))[:1+rng.IntN(2)]
			pod.UID = types.UID(fmt.Sprint(i))
			pods[i] = &snapshot.Pod{Pod: pod, Class: class}
		}
		slices.SortFunc(pods, snapshot.ComparePods)
		b := New(&snapshot.Snapshot{}, pods)
		for range 3 {
			some := slices.DeleteFunc(slices.Clone(pods), func(*snapshot.Pod) bool { return rng.IntN(3) == 0 })
			want := slices.Clone(some)
			rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			if b.SortPods(some); !slices.Equal(some, want) {
				t.Fatal("pods are in another order")
			}
		}
	}
}
