package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// BufferState is how many chunks of a buffer there is room for: on machines that exist or are
// on their way, and on new ones; and for how many there is none, with the reasons of the first.
type BufferState struct {
	Buffer                  *snapshot.Buffer
	Existing, New, Unplaced int
	Reasons                 []Reason
}

// Buffers are the states of the buffers that the plan has chunks of, by namespace and name.
func (p *Plan) Buffers() []BufferState {
	byBuffer := map[*snapshot.Buffer]*BufferState{}
	of := func(pod *snapshot.Pod) *BufferState {
		s := byBuffer[pod.Buffer]
		if s == nil {
			s = &BufferState{Buffer: pod.Buffer}
			byBuffer[pod.Buffer] = s
		}
		return s
	}
	for _, at := range p.Expected {
		of(at.Pod).Existing++
	}
	for i := range p.NewNodes {
		for _, pod := range p.NewNodes[i].Expected {
			of(pod).New++
		}
	}
	for _, u := range p.UnplacedChunks {
		s := of(u.Pod)
		if s.Unplaced++; s.Reasons == nil {
			s.Reasons = u.Reasons
		}
	}
	delete(byBuffer, nil) // pods that are expected
	out := make([]BufferState, 0, len(byBuffer))
	for _, s := range byBuffer {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b BufferState) int {
		return cmp.Or(cmp.Compare(a.Buffer.Namespace, b.Buffer.Namespace), cmp.Compare(a.Buffer.Name, b.Buffer.Name))
	})
	return out
}

// comers words pods that are expected and chunks of buffers.
func comers(list []*snapshot.Pod) []string {
	expected := 0
	chunks := map[*snapshot.Buffer]int{}
	var buffers []*snapshot.Buffer
	for _, p := range list {
		switch {
		case p.Buffer == nil:
			expected++
		case chunks[p.Buffer] == 0:
			buffers = append(buffers, p.Buffer)
			fallthrough
		default:
			chunks[p.Buffer]++
		}
	}
	var out []string
	if expected > 0 {
		out = append(out, fmt.Sprintf("%d about to be created", expected))
	}
	for _, b := range buffers {
		out = append(out, fmt.Sprintf("%s of %s/%s", Count(chunks[b], "chunk"), b.Namespace, b.Name))
	}
	return out
}

// chunks are those that are on machines that exist or are on their way.
func (p *Plan) chunks() []Placement {
	var out []Placement
	for _, at := range p.Expected {
		if at.Pod.Buffer != nil {
			out = append(out, at)
		}
	}
	return out
}

// chunksIn counts the chunks of buffers among pods.
func chunksIn(list []*snapshot.Pod) int {
	n := 0
	for _, p := range list {
		if p.Buffer != nil {
			n++
		}
	}
	return n
}
