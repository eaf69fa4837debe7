package sqstest

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
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

// queue is one queue, in order of arrival.
type queue struct {
	messages []*message
	// received counts deliveries, deleted messages that were.
	received, deleted int
}

type message struct {
	id, body   string
	attributes map[string]attribute
	sent       time.Time
	visible    time.Time
	receipt    string
	receives   int
}

type attribute struct {
	DataType    string
	StringValue string `json:",omitempty"`
}

// New makes a server.
func New(c Config) *Server {
	if c.Account == "" {
		c.Account = "111122223333"
	}
	s := &Server{config: c, random: rand.New(rand.NewPCG(c.Seed, c.Seed)), queues: map[string]*queue{}, changed: make(chan struct{})}
	for _, name := range c.Queues {
		s.queues[name] = &queue{}
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
	q.messages = append(q.messages, &message{id: id, body: body, attributes: attributes, sent: now, visible: now.Add(delay)})
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
	return Counts{Waiting: len(q.messages), Received: q.received, Deleted: q.deleted}
}

// Refusals counts the messages of a queue by the value of an attribute.
func (s *Server) Refusals(name, attribute string) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for _, m := range s.queues[name].messages {
		out[m.attributes[attribute].StringValue]++
	}
	return out
}

// take delivers up to n visible messages, in any order, and says when the next one
// becomes visible; zero if none does.
func (s *Server) take(name string, n int, hide time.Duration) ([]message, <-chan struct{}, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.queues[name], time.Now()
	var out []message
	var next time.Time
	for _, i := range s.random.Perm(len(q.messages)) {
		m := q.messages[i]
		if m.visible.After(now) {
			if next.IsZero() || m.visible.Before(next) {
				next = m.visible
			}
			continue
		}
		if len(out) == n {
			break
		}
		m.receives++
		s.serial++
		m.receipt, m.visible = fmt.Sprintf("receipt-%d", s.serial), now.Add(hide)
		q.received++
		out = append(out, *m)
	}
	return out, s.changed, next
}

// find is the message of a receipt that is still valid, -1 if there is none.
func (q *queue) find(receipt string) int {
	for i, m := range q.messages {
		if receipt != "" && m.receipt == receipt {
			return i
		}
	}
	return -1
}

func (s *Server) remove(name, receipt string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	if i := q.find(receipt); i >= 0 {
		last := len(q.messages) - 1
		q.messages[i] = q.messages[last]
		q.messages = q.messages[:last]
		q.deleted++
	}
}

func (s *Server) hide(name, receipt string, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	i := q.find(receipt)
	if i < 0 {
		return false
	}
	q.messages[i].visible = time.Now().Add(d)
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
