package interruption

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/controllers/loop"
	"github.com/millwright-dev/millwright/controllers/notify"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const (
	// sendEvery is how often messages that wait are sent, and those that failed again.
	sendEvery = 2 * time.Second
	// trying is for how long a message about a machine is tried. Those about requests are
	// tried until they arrive: what was told is on the request.
	trying = 10 * time.Minute
	// mostWaiting bounds the messages that wait.
	mostWaiting = 1000
)

// teller sends notices to the webhook.
type teller struct {
	loop.Deps
	mu      sync.Mutex
	waiting []letter
	// sent are the notices about machines that have arrived or were given up, by ID, with the
	// time: the machine may look the same for a moment.
	sent map[string]time.Time
}

// letter is a notice on its way.
type letter struct {
	notice  interruption.Notice
	message notify.Message
	since   time.Time
}

func newTeller(d loop.Deps) *teller { return &teller{Deps: d, sent: map[string]time.Time{}} }

// take queues the notices that do not wait already.
func (t *teller) take(ctx context.Context, notices []interruption.Notice) {
	if t.Webhook == nil {
		return
	}
	now := t.Clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, at := range t.sent {
		if now.Sub(at) > trying {
			delete(t.sent, id)
		}
	}
	for _, n := range notices {
		if _, told := t.sent[n.ID]; told || t.waits(n.ID) {
			continue
		}
		m, ok := t.message(n, now)
		if !ok {
			continue
		}
		if len(t.waiting) == mostWaiting {
			log.FromContext(ctx).Info("a notification is dropped: too many wait for the webhook", "id", n.ID)
			continue
		}
		t.waiting = append(t.waiting, letter{n, m, now})
	}
}

func (t *teller) waits(id string) bool {
	for _, l := range t.waiting {
		if l.notice.ID == id {
			return true
		}
	}
	return false
}

// send sends what waits, in order, until the webhook refuses one.
func (t *teller) send(ctx context.Context) error {
	for {
		t.mu.Lock()
		if len(t.waiting) == 0 {
			t.mu.Unlock()
			return nil
		}
		next := t.waiting[0]
		t.mu.Unlock()
		err := t.Webhook.Send(ctx, next.message)
		lost := err != nil && t.Clock.Since(next.since) > trying
		if err != nil && !lost {
			return err
		}
		t.mu.Lock()
		t.waiting = t.waiting[1:]
		if next.notice.Request == "" {
			t.sent[next.notice.ID] = t.Clock.Now()
		}
		t.mu.Unlock()
		if lost {
			return fmt.Errorf("a notification is given up after %v: %w", trying, err)
		}
		if err := t.note(ctx, next.notice); err != nil && !loop.Overtaken(err) {
			return err
		}
	}
}

// note keeps on a request what was told of it.
func (t *teller) note(ctx context.Context, n interruption.Notice) error {
	object, known := t.Store.Request(n.Request)
	if n.Request == "" || !known {
		return nil
	}
	_, err := t.Writer.Request(ctx, object, func(o *v1alpha1.DisruptionRequest) { o.Status.Told = v1alpha1.RequestPhase(n.Phase) })
	return err
}

// Start sends until the context ends.
func (t *teller) Start(ctx context.Context) error {
	return t.Every(ctx, sendEvery, sendEvery, "notifying the webhook", t.send)
}

// NeedLeaderElection makes it run on the leader only.
func (*teller) NeedLeaderElection() bool { return true }

// told is what programs get.
type told struct {
	NodePool  string `json:"nodePool,omitempty"`
	NodeClaim string `json:"nodeClaim,omitempty"`
	Node      string `json:"node,omitempty"`
	Zone      string `json:"zone,omitempty"`
	// Event is the cloud's name of what it announced, Kind its kind.
	Event  string `json:"event,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Action string `json:"action"`
	// Phase is the request's; Begins, Deadline and Expires are RFC 3339.
	Phase    string `json:"phase,omitempty"`
	Begins   string `json:"begins,omitempty"`
	Deadline string `json:"deadline,omitempty"`
	Expires  string `json:"expires,omitempty"`
	Pods     int32  `json:"pods,omitempty"`
	Message  string `json:"message"`
}

const typePrefix = "dev.millwright."

// message is a notice in words; false if what it is about is gone.
func (t *teller) message(n interruption.Notice, now time.Time) (notify.Message, bool) {
	if n.Request == "" {
		claim, event := n.Node.Claim, n.Verdict.Event
		text := fmt.Sprintf("%s of %s: %s", n.Action, strings.Join(refs(n.Node), ", "), n.Verdict.Reason.Message())
		return notify.Message{
			ID: n.ID, Type: typePrefix + "interruption." + strings.ToLower(string(n.Action)), Subject: "nodeclaim/" + claim.Name, Time: now, Text: text,
			Data: told{
				NodePool: claim.Pool, NodeClaim: claim.Name, Node: claim.NodeName, Event: event.ID, Kind: string(event.Kind),
				Action: string(n.Action), Deadline: stamp(event.End()), Message: n.Verdict.Reason.Message(),
			},
		}, true
	}
	r, known := t.Store.Request(n.Request)
	if !known {
		return notify.Message{}, false
	}
	s := &r.Status
	text := fmt.Sprintf("%s: %s of %s in NodePool %s, because of %s. %s", n.Phase, r.Spec.Action, r.Spec.NodeClaim, s.NodePool, s.Kind, s.Message)
	if n.Phase == snapshot.RequestProposed {
		text = fmt.Sprintf("%s %s Answer with: millwright approve %s, or millwright deny %s", text, s.Unanswered, r.Name, r.Name)
	}
	return notify.Message{
		ID: n.ID, Type: typePrefix + "disruptionrequest." + strings.ToLower(string(n.Phase)), Subject: "disruptionrequest/" + r.Name, Time: now, Text: text,
		Data: told{
			NodePool: s.NodePool, NodeClaim: r.Spec.NodeClaim, Node: s.Node, Zone: s.Zone, Event: r.Spec.Event, Kind: string(s.Kind),
			Action: string(r.Spec.Action), Phase: string(n.Phase), Begins: stamp(s.Begins.Time), Deadline: stamp(s.Deadline.Time),
			Expires: stamp(s.Expires.Time), Pods: s.PodCount, Message: s.Message,
		},
	}, true
}

func refs(n *snapshot.Node) []string {
	var out []string
	for _, r := range plan.MachineRefs(n) {
		out = append(out, r.String())
	}
	return out
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
