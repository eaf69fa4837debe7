package snapshot

import (
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Who asks for more than a snapshot holds takes nothing from those who ask for little, whatever
// their order.
func TestAHugeBufferLeavesOthersTheirChunks(t *testing.T) {
	var buffers []*Buffer
	for _, want := range []int{math.MaxInt32, 2, 0, math.MaxInt32, 300} {
		buffers = append(buffers, &Buffer{Chunk: &Pod{Pod: &corev1.Pod{}}, Count: want})
	}
	got := make([]int, len(buffers))
	for _, p := range Chunks(buffers) {
		got[slices.Index(buffers, p.Buffer)]++
	}
	if want := []int{4849, 2, 0, 4849, 300}; !slices.Equal(got, want) {
		t.Errorf("the buffers have %v chunks, want %v", got, want)
	}
}

func TestAHugeJobLeavesOthersTheirCopies(t *testing.T) {
	like := func(name string) *Pod {
		p := &corev1.Pod{}
		p.Name = name
		return &Pod{Pod: p}
	}
	out := Copies([]Expected{{Like: like("huge"), Count: math.MaxInt32}, {Like: like("small"), Count: 2}})
	if n := len(out); n != MostExpected || out[n-3].Pod.Name != "~huge-9998" || out[n-1].Pod.Name != "~small-2" {
		t.Errorf("%d copies, the last are %s and %s", n, out[n-3].Pod.Name, out[n-1].Pod.Name)
	}
}
