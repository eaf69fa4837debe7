package kubelet

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// inUse is which volumes each node has in use, and for which pods. The zero
// value is ready and safe for concurrent use.
type inUse struct {
	mu  sync.Mutex
	all map[string]map[podKey][]volume // by node
}

// hold says that a pod uses volumes; it returns whether there are any.
func (u *inUse) hold(node string, pod podKey, volumes []volume) bool {
	if len(volumes) == 0 {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]map[podKey][]volume{}
	}
	if u.all[node] == nil {
		u.all[node] = map[podKey][]volume{}
	}
	u.all[node][pod] = volumes
	return true
}

// release says that a pod uses none any more; it returns whether it did.
func (u *inUse) release(node string, pod podKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, held := u.all[node][pod]
	delete(u.all[node], pod)
	return held
}

// forget drops a node.
func (u *inUse) forget(node string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, node)
}

// names lists the volumes of a node that have to be attached, in order.
func (u *inUse) names(node string) []corev1.UniqueVolumeName {
	u.mu.Lock()
	defer u.mu.Unlock()
	set := map[corev1.UniqueVolumeName]bool{}
	for _, volumes := range u.all[node] {
		for _, v := range volumes {
			if v.attach {
				set[v.name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// holders lists the pods of a node that use volumes, in no order.
func (u *inUse) holders(node string) []podKey {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.all[node]))
}
