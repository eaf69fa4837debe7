package workload

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench/fleet"
)

func TestTheSameSeedMakesTheSameBatch(t *testing.T) {
	for name, w := range Samples() {
		a, b, other := dump(t, w, 1), dump(t, w, 1), dump(t, w, 2)
		if a != b {
			t.Errorf("%s: two batches of one seed differ", name)
		}
		if name != "identical-small" && a == other {
			t.Errorf("%s: the seed has no influence", name)
		}
	}
}

func TestPodsAreDistinctSortedAndPending(t *testing.T) {
	for name, w := range Samples() {
		pods := w.Problem(fleet.Small(), 1).Pods
		names, uids := map[string]bool{}, map[types.UID]bool{}
		for _, p := range pods {
			names[p.Name], uids[p.UID] = true, true
			if p.Status.Phase != corev1.PodPending {
				t.Errorf("%s: pod %s is %s", name, p.Name, p.Status.Phase)
			}
		}
		if len(names) != len(pods) || len(uids) != len(pods) {
			t.Errorf("%s: %d pods, %d names, %d UIDs", name, len(pods), len(names), len(uids))
		}
		if !slices.IsSortedFunc(pods, func(a, b *corev1.Pod) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }) {
			t.Errorf("%s: pods are not in the order of their names", name)
		}
	}
}

func TestNamesAreUniqueAndLimitsLeaveOutGiants(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if seen[w.Name] {
			t.Errorf("two workloads are called %s", w.Name)
		}
		seen[w.Name] = true
	}
	w := Workload{Pods: Identical(1, 1, 1), MaxVCPU: 8}
	for _, typ := range w.Problem(fleet.Small(), 1).Types {
		if cpu := typ.Capacity[corev1.ResourceCPU]; cpu.Value() > 8 {
			t.Errorf("type %s has %d vCPUs", typ.Name, cpu.Value())
		}
	}
}

func dump(t *testing.T, w Workload, seed uint64) string {
	t.Helper()
	raw, err := json.Marshal(w.Problem(fleet.Small(), seed).Pods)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
