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

// Names that begin alike for longer than eight bytes, end early, hold zero bytes, or
// are equal must come out as a plain comparison has them.
func TestPodsAreSortedByNamespaceAndName(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	heads := []string{"", "a", "web-", "web-7d9c5f8b4-", "\x00"}
	for range 200 {
		pods := make([]*snapshot.Pod, rng.IntN(40))
		for i := range pods {
			pod := &corev1.Pod{}
			pod.Namespace = []string{"default", "kube-system"}[rng.IntN(2)]
			pod.Name = heads[rng.IntN(len(heads))] + fmt.Sprint(rng.IntN(1000))[:rng.IntN(2)]
			pod.Name += fmt.Sprint(rng.Uint64N(1 << 40))[:1+rng.IntN(2)]
			pod.UID = types.UID(fmt.Sprint(i))
			pods[i] = &snapshot.Pod{Pod: pod}
		}
		want := slices.Clone(pods)
		slices.SortFunc(want, snapshot.ComparePods)
		SortPods(pods)
		if !slices.Equal(pods, want) {
			t.Fatal("pods are in another order")
		}
	}
}
