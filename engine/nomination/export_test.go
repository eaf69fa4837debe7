package nomination

import "github.com/millwright-dev/millwright/engine/snapshot"

// Missing is missing, of one node.
func Missing(planned []*snapshot.Pod, n *snapshot.Node) []*snapshot.Pod {
	return missing(planned, n, newMemo(&snapshot.Snapshot{}))
}
