package buffer

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// As Karpenter v1.14 counts: the more of replicas and percentage, the less of limits.
func TestCount(t *testing.T) {
	chunk := amounts("cpu", "300m", "memory", "1Gi")
	for name, c := range map[string]struct {
		size Size
		want int
	}{
		"nothing":                         {Size{}, 0},
		"replicas":                        {Size{Replicas: new(int32(3))}, 3},
		"none":                            {Size{Replicas: new(int32(0))}, 0},
		"per cent, rounded up":            {Size{Percentage: new(int32(15)), Of: 10}, 2},
		"at least one":                    {Size{Percentage: new(int32(1)), Of: 1}, 1},
		"of nothing":                      {Size{Percentage: new(int32(50))}, 0},
		"no per cent":                     {Size{Percentage: new(int32(0)), Of: 10}, 0},
		"the more of both":                {Size{Replicas: new(int32(3)), Percentage: new(int32(50)), Of: 10}, 5},
		"limits alone":                    {Size{Limits: amounts("cpu", "3", "memory", "20Gi")}, 10},
		"limits are the most":             {Size{Replicas: new(int32(30)), Limits: amounts("cpu", "3", "memory", "5Gi")}, 5},
		"limits below one":                {Size{Replicas: new(int32(3)), Limits: amounts("cpu", "200m")}, 0},
		"limits of what it does not want": {Size{Replicas: new(int32(3)), Limits: amounts("nvidia.com/gpu", "1")}, 3},
		"those alone":                     {Size{Limits: amounts("nvidia.com/gpu", "1")}, 0},
		"beyond counting":                 {Size{Limits: amounts("cpu", "1e19")}, 1<<31 - 1},
	} {
		if got := c.size.Count(snapshot.AmountsOf(chunk)); got != c.want {
			t.Errorf("%s: %d chunks, want %d", name, got, c.want)
		}
	}
}

func TestConditions(t *testing.T) {
	why := []plan.Reason{{Code: plan.NoPools}}
	of := func(count int) *snapshot.Buffer { return &snapshot.Buffer{Chunk: &snapshot.Pod{}, Count: count} }
	for name, c := range map[string]struct {
		buffer *snapshot.Buffer
		state  plan.BufferState
		ready  bool
		reason string
		words  string
	}{
		"unresolved":    {&snapshot.Buffer{Reason: PodTemplateNotFound, Fault: "podtemplate/x is not there"}, plan.BufferState{}, false, notReady, "podtemplate/x"},
		"empty":         {of(0), plan.BufferState{}, true, empty, "no chunk is wanted"},
		"fits":          {of(3), plan.BufferState{Existing: 3}, true, fitsExistingCapacity, "all of its chunks (3)"},
		"launching":     {of(3), plan.BufferState{Existing: 1, New: 2}, true, requiresNewCapacity, "room for 1 of 3 chunks; new machines are launched for 2"},
		"no room":       {of(3), plan.BufferState{Unplaced: 3, Reasons: why}, true, requiresNewCapacity, "3 cannot be placed: "},
		"beyond bounds": {of(20_000), plan.BufferState{Existing: 10_000}, true, requiresNewCapacity, "10000 are not planned for"},
	} {
		got := Conditions(c.buffer, c.state)
		if got[0].True != c.ready || got[1].Reason != c.reason || got[1].True != (c.reason == fitsExistingCapacity) || !strings.Contains(got[1].Message, c.words) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
