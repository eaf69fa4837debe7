package snapshot

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestRequestsAreInTheOrderOfTheirNames(t *testing.T) {
	ask := func(amounts map[corev1.ResourceName]string) *corev1.Pod {
		list := corev1.ResourceList{}
		for name, q := range amounts {
			list[name] = resource.MustParse(q)
		}
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list}}}}}
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"nothing":       {ask(nil), []string{"pods 1"}},
		"usual amounts": {ask(map[corev1.ResourceName]string{"memory": "1Gi", "cpu": "2"}), []string{"cpu 2", "memory 1Gi", "pods 1"}},
		"others come between and after": {
			ask(map[corev1.ResourceName]string{"vendor.com/gpu": "3", "memory": "1Gi", "hugepages-2Mi": "4Mi", "ephemeral-storage": "5", "cpu": "2"}),
			[]string{"cpu 2", "ephemeral-storage 5", "hugepages-2Mi 4Mi", "memory 1Gi", "pods 1", "vendor.com/gpu 3"}},
		"a pod is one pod whatever it says": {ask(map[corev1.ResourceName]string{"pods": "7", "cpu": "2"}), []string{"cpu 2", "pods 1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c Classes
			requests := c.Pod(tt.pod).Class.Requests
			var got []string
			for _, a := range requests {
				got = append(got, string(a.Name)+" "+a.Quantity.String())
				if q := requests.Get(a.Name); q.Cmp(a.Quantity) != 0 {
					t.Errorf("Get of %s is %s", a.Name, q.String())
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if missing := requests.Get("example.com/none"); !missing.IsZero() {
				t.Errorf("there is %s of what nobody asked for", missing.String())
			}
		})
	}
}

func TestAmountsAddUpWithoutAChangeToThemselves(t *testing.T) {
	list := corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}
	sum := corev1.ResourceList{"cpu": resource.MustParse("1"), "pods": resource.MustParse("3")}
	a := AmountsOf(list)
	a.AddTo(sum)
	a.AddTo(sum)
	for name, want := range map[corev1.ResourceName]string{"cpu": "2", "memory": "2Gi", "pods": "3"} {
		if got := sum[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%s of %s, want %s", got.String(), name, want)
		}
	}
	if got := a.Get("cpu"); got.Cmp(list["cpu"]) != 0 {
		t.Errorf("the amounts have become %s of cpu", got.String())
	}
}
