package snapshot

import "k8s.io/apimachinery/pkg/types"

// LearnedTaint is a taint that new nodes of a pool lose soon although the pool
// does not declare it.
type LearnedTaint struct {
	// Taint is key:effect.
	Taint string `json:"taint"`
	// Claims are the first ones whose nodes lost it.
	Claims []types.UID `json:"claims"`
}
