package csi

import (
	"sync"
	"time"
)

// moments remembers when something began, under a key of the caller's choice.
// The zero value is ready and safe for concurrent use.
type moments struct {
	mu  sync.Mutex
	all map[string]time.Time
}

// of returns when key began: now, unless it is remembered.
func (m *moments) of(key string, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.all[key]; ok {
		return t
	}
	if m.all == nil {
		m.all = map[string]time.Time{}
	}
	m.all[key] = now
	return now
}

// forget makes key begin anew the next time.
func (m *moments) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}
