package placement

import "github.com/millwright-dev/millwright/engine/snapshot"

// apart tells pods from chunks of buffers that are to be kept elsewhere than on the machines that
// have them. Chunks come after all pods, which therefore never count on them: kube-scheduler
// does not know of them.
func apart(pods []*snapshot.Pod) (real, chunks []*snapshot.Pod) {
	for _, p := range pods {
		if p.Buffer == nil {
			real = append(real, p)
		} else {
			chunks = append(chunks, p)
		}
	}
	return real, chunks
}
