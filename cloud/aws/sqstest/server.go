package sqstest

import (
	"container/heap"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Config says what queues there are.
type Config struct {
	// Queues are the names of those that exist.
	Queues []string
	// Account is the one that the queues' URLs name; empty is 111122223333.
	Account string
	// Seed chooses the order of deliveries.
	Seed uint64
}

// Server is an http.Handler. It is safe for concurrent use.
type Server struct {
	config Config

	mu      sync.Mutex
	random  *rand.Rand
	queues  map[string]*queue
	changed chan struct{} // closed, and made anew, when something may have become visible
	serial  int
}

// queue is one queue. Every message is in one of the two lists; one that has been
// deleted stays there until its turn comes.
type queue struct {
	// visible are in no order, hidden by when they become visible.
	visible []*message
	hidden  hidden
	// receipts are the latest of the messages that have been delivered.
	receipts map[string]*message
	// waiting counts messages, received deliveries, deleted messages that were.
	waiting, received, deleted int
}

type message struct {
	id, body   string
	attributes map[string]attribute
	sent       time.Time
	visible    time.Time
	receipt    string
	receives   int
	deleted    bool
}

type attribute struct {
	DataType    string
	StringValue string
}

// New makes a server.
func New(c Config) *Server {
	if c.Account == "" {
		c.Account = "111122223333"
	}
	s := &Server{config: c, random: rand.New(rand.NewPCG(c.Seed, c.Seed)), queues: map[string]*queue{}, changed: make(chan struct{})}
	for _, name := range c.Queues {
		s.queues[name] = &queue{receipts: map[string]*message{}}
	}
	return s
}

// Send puts a message into a queue, which must exist. It becomes visible after the
// delay.
func (s *Server) Send(name, body string, delay time.Duration) error {
	_, err := s.put(name, body, nil, delay)
	return err
}

func (s *Server) put(name, body string, attributes map[string]attribute, delay time.Duration) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.queues[name]
	if !ok {
		return "", errNoQueue
	}
	now := time.Now()
	s.serial++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", s.serial)
	q.hide(&message{id: id, body: body, attributes: attributes, sent: now, visible: now.Add(delay)})
	q.waiting++
	s.wake()
	return id, nil
}

// Counts are how many messages a queue has, how often it has delivered one, and how
// many have been deleted.
type Counts struct{ Waiting, Received, Deleted int }

// Counts counts a queue's messages.
func (s *Server) Counts(name string) Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	if q == nil {
		return Counts{}
	}
	return Counts{Waiting: q.waiting, Received: q.received, Deleted: q.deleted}
}

// Refusals counts the messages of a queue by the value of an attribute.
func (s *Server) Refusals(name, attribute string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	q := s.queues[name]
	for _, m := range slices.Concat(q.visible, q.hidden) {
		if !m.deleted {
			out[m.attributes[attribute].StringValue]++
		}
	}
	return out
}

// take delivers up to n visible messages, in any order, and says when the next one
// becomes visible; zero if none does.
func (s *Server) take(name string, n int, hide time.Duration) ([]message, <-chan struct{}, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.queues[name], time.Now()
	next := q.reveal(now)
	var out []message
	for len(out) < n && len(q.visible) > 0 {
		m := q.draw(s.random)
		if m.deleted {
			continue
		}
		delete(q.receipts, m.receipt)
		m.receives++
		s.serial++
		m.receipt, m.visible = fmt.Sprintf("receipt-%d", s.serial), now.Add(hide)
		q.receipts[m.receipt] = m
		q.hide(m)
		q.received++
		out = append(out, *m)
	}
	return out, s.changed, next
}

// hide puts a message among those that become visible later.
func (q *queue) hide(m *message) { heap.Push(&q.hidden, m) }

// reveal makes visible what is due, and says when the next message is.
func (q *queue) reveal(now time.Time) time.Time {
	for len(q.hidden) > 0 {
		first := q.hidden[0]
		if first.visible.After(now) && !first.deleted {
			return first.visible
		}
		heap.Pop(&q.hidden)
		q.visible = append(q.visible, first)
	}
	return time.Time{}
}

// draw takes any of the visible messages away.
func (q *queue) draw(random *rand.Rand) *message {
	i, last := random.IntN(len(q.visible)), len(q.visible)-1
	m := q.visible[i]
	q.visible[i], q.visible[last] = q.visible[last], nil
	q.visible = q.visible[:last]
	return m
}

// remove deletes the message of a receipt that is still valid.
func (s *Server) remove(name, receipt string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	if m := q.receipts[receipt]; m != nil {
		delete(q.receipts, receipt)
		m.deleted, m.body = true, ""
		q.waiting--
		q.deleted++
	}
}

func (s *Server) hide(name, receipt string, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	m, now := q.receipts[receipt], time.Now()
	if m == nil || !m.visible.After(now) {
		return false
	}
	m.visible = now.Add(d)
	heap.Init(&q.hidden)
	s.wake()
	return true
}

// wake lets long polls look again; the lock is held.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func digest(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// hidden is a heap.Interface, the first to become visible on top.
type hidden []*message

func (h hidden) Len() int           { return len(h) }
func (h hidden) Less(i, j int) bool { return h[i].visible.Before(h[j].visible) }
func (h hidden) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hidden) Push(m any)        { *h = append(*h, m.(*message)) }

func (h *hidden) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return m
}
