package snapshot

import "strconv"

// Buffer is a CapacityBuffer: room that is kept for pods to come.
type Buffer struct {
	Namespace, Name string
	// Chunk is one unit of the room, in the shape of a pod; nil if what it is to be made of is
	// not known, for which Reason and Fault say why.
	Chunk         *Pod
	Reason, Fault string
	// Rest is the class of all chunks but the first; nil if it is that of Chunk.
	Rest *Class
	// Count is how many chunks are wanted.
	Count int
	// Template is the PodTemplate that the chunk was made of, at a generation; empty if it was
	// made of a workload.
	Template           string
	TemplateGeneration int64
}

// Chunks are pods that stand for the room that buffers keep, up to [MostExpected] of them.
func Chunks(buffers []*Buffer) []*Pod {
	var out []*Pod
	for n, share := range shares(buffers, func(b *Buffer) int { return b.Count }) {
		b := buffers[n]
		for i := range share {
			pod, class := *b.Chunk.Pod, b.Chunk.Class
			pod.Name = "capacity-buffer-" + b.Name + "-" + strconv.Itoa(i)
			if i > 0 && b.Rest != nil {
				class = b.Rest
			}
			out = append(out, &Pod{Pod: &pod, Class: class, Buffer: b})
		}
	}
	return out
}
