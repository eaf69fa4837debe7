package interruption_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return (&world{now: start}).do })
}

var start = time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)

// world is a cluster, what the cloud has announced, and the time.
//
//	rule main Maintenance,... action=Drain codes=Stop,... pods=app=db lead=48h
//	     window=Sunday/02:00-04:00/Europe/Berlin reserve=30m leave force respect confirmed
//	event e1 Maintenance/Stop node=n1 machine=M zone=Z not-before=2026-10-26T06:00:00Z
//	     deadline=... in=336h (not-before, from now) until=2m (deadline, from now)
//	     state=Changed confirmed
//	at 2026-10-25T00:30:00Z             it is that time
//	after 2h                            so much later
//	respond                             the decision
//	obey                                the decision is carried out, as far as Nodes show it
type world struct {
	enginetest.Scenario
	now    time.Time
	events []interruption.Event
}

func (w *world) do(t *testing.T, c storytest.Command) string {
	switch c.Name {
	case "rule":
		w.rule(t, c)
	case "event":
		w.event(t, c)
	case "at":
		w.now = moment(t, c.Args[0])
	case "after":
		w.now = w.now.Add(span(t, c.Args[0]))
	case "respond":
		return w.decide().String()
	case "obey":
		for _, r := range w.decide().Responses {
			obey(r)
		}
	default:
		if !w.Do(t, c) {
			t.Fatalf("unknown command %q", c.Name)
		}
		if c.Name == "node" {
			n := w.Node(c.Args[0])
			if n.Claim == nil {
				n.Object.Spec.ProviderID = "test://" + n.Name
			}
		}
	}
	return ""
}

func (w *world) decide() *interruption.Decision {
	w.Now = w.now
	return interruption.Decide(&w.Snapshot, w.events)
}

func obey(r interruption.Response) {
	object := r.Node.Object
	switch {
	case r.Uncordon:
		object.Spec.Taints = nil
	case r.Action == snapshot.InterruptionCordon:
		object.Spec.Taints = []corev1.Taint{{Key: interruption.CordonTaint, Effect: corev1.TaintEffectNoSchedule}}
	case r.Action == snapshot.InterruptionDrain:
		r.Node.Claim.Deleted = start
	}
}

func (w *world) rule(t *testing.T, c storytest.Command) {
	r := snapshot.InterruptionRule{
		Events: strings.Split(c.Args[1], ","), Action: snapshot.InterruptionAction(c.Options["action"]),
		LeaveIfTooLate: c.Has("leave"), ForceAtDeadline: c.Has("force"), RespectDoNotDisrupt: c.Has("respect"), OnlyConfirmed: c.Has("confirmed"),
	}
	if c.Has("codes") {
		r.Codes = strings.Split(c.Options["codes"], ",")
	}
	if c.Has("pods") {
		r.Pods = labels.SelectorFromSet(labels.Set{"app": c.Options["pods"]})
	}
	if c.Has("lead") {
		lead := span(t, c.Options["lead"])
		r.LeadTime = &lead
	}
	if c.Has("reserve") {
		r.Reserve = span(t, c.Options["reserve"])
	}
	if c.Has("window") {
		r.Window = window(t, c.Options["window"])
	}
	p := &w.Pool(c.Args[0]).Policy.Interruption
	p.Rules = append(p.Rules, r)
}

// window reads DAYS/FROM-TO/ZONE; the days may be left out.
func window(t *testing.T, text string) *snapshot.WeeklyWindow {
	t.Helper()
	parts := strings.SplitN(text, "/", 3)
	out := &snapshot.WeeklyWindow{TimeZone: parts[2]}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.Contains(parts[0], d.String()) {
			out.Days = append(out.Days, d)
		}
	}
	from, to, _ := strings.Cut(parts[1], "-")
	out.From, out.To = clock(t, from), clock(t, to)
	return out
}

func clock(t *testing.T, s string) time.Duration {
	t.Helper()
	h, m, _ := strings.Cut(s, ":")
	return span(t, h+"h"+m+"m")
}

// event announces something, or changes what was announced under that ID.
func (w *world) event(t *testing.T, c storytest.Command) {
	kind, code, _ := strings.Cut(c.Args[1], "/")
	e := interruption.Event{
		ID: c.Args[0], Kind: interruption.Kind(kind), Code: interruption.Code(code), State: interruption.State(c.Options["state"]),
		Machine: c.Options["machine"], Zone: c.Options["zone"], Confirmed: c.Has("confirmed"), Source: "test",
	}
	if c.Has("node") {
		e.Machine = "test://" + c.Options["node"]
	}
	for option, field := range map[string]*time.Time{"not-before": &e.NotBefore, "deadline": &e.Deadline} {
		if c.Has(option) {
			*field = moment(t, c.Options[option])
		}
	}
	for option, field := range map[string]*time.Time{"in": &e.NotBefore, "until": &e.Deadline} {
		if c.Has(option) {
			*field = w.now.Add(span(t, c.Options[option]))
		}
	}
	for i := range w.events {
		if w.events[i].ID == e.ID {
			w.events[i] = e
			return
		}
	}
	w.events = append(w.events, e)
}

func moment(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func span(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
