package csi

import "sync"

// ledger is the cloud's view of exclusive volumes: each is held by at most one
// attachment, from the beginning of the attach to the end of the detach, and beyond
// it where a knob says so. The
// zero value is ready and safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	holder map[string]string // volume -> attachment
	node   map[string]string // volume -> node
}

// take gives the volume to the attachment to a node unless another has it or the node has as
// many as it can, and returns which has it now, empty if none.
func (l *ledger) take(volume, attachment, node string, limit int) (holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other := l.holder[volume]; other != "" {
		return other
	}
	if l.holder == nil {
		l.holder, l.node = map[string]string{}, map[string]string{}
	}
	used := 0
	for v, n := range l.node {
		if n == node && l.holder[v] != "" {
			used++
		}
	}
	if used >= limit {
		return ""
	}
	l.holder[volume], l.node[volume] = attachment, node
	return attachment
}

// hand passes the volume on, if that attachment has it.
func (l *ledger) hand(volume, from, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder[volume] == from {
		l.holder[volume] = to
	}
}

// release takes from the attachment what it has, and returns those volumes.
func (l *ledger) release(attachment string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var free []string
	for volume, holder := range l.holder {
		if holder == attachment {
			delete(l.holder, volume)
			delete(l.node, volume)
			free = append(free, volume)
		}
	}
	return free
}
