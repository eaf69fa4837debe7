package interruption_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return (&world{now: start}).do })
}

var start = time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)

// world is a cluster, what the cloud has announced, and the time.
//
//	rule main Maintenance,... action=Drain codes=Stop,... pods=app=db lead=48h
//	     window=Sunday/02:00-04:00/Europe/Berlin reserve=30m leave force respect confirmed pool-budgets
//	     approval=Required waiting=app=db evict ignore-budgets ignore-grace
//	no-rules main                       its rules are taken away
//	rates main Pool/2/1m,Zone/1/30s
//	budget main 10%                      of the NodePool
//	grace n1 1h                         the terminationGracePeriod of a claim
//	answer n1 Approve                   somebody answers the request about a machine
//	restart n1 {"events":["e1"]}        how far a machine's restart is, in the words of its record
//	ready n1 2026-10-26T06:00:00Z       since when a Node is Ready
//	event e1 Maintenance/Stop node=n1 machine=M zone=Z not-before=2026-10-26T06:00:00Z
//	     deadline=... in=336h (not-before, from now) until=2m (deadline, from now)
//	     state=Changed confirmed
//	at 2026-10-25T00:30:00Z             it is that time
//	after 2h                            so much later
//	respond                             the decision
//	obey                                the decision is carried out, as far as Nodes and claims show it
//	noted n1                            by when the claim says that its node must be empty, and what does not count
type world struct {
	enginetest.Scenario
	now    time.Time
	events []interruption.Event
}

func (w *world) do(t *testing.T, c storytest.Command) string {
	switch c.Name {
	case "rule":
		w.rule(t, c)
	case "no-rules":
		w.Pool(c.Args[0]).Policy.Interruption.Rules = nil
	case "event":
		w.event(t, c)
	case "rates":
		w.rates(t, c)
	case "answer":
		w.answer(t, c)
	case "grace":
		grace := storytest.Duration(t, c.Args[1])
		w.Node(c.Args[0]).Claim.TerminationGracePeriod = &grace
	case "restart":
		w.Node(c.Args[0]).Claim.Annotations = map[string]string{restart.Annotation: strings.Join(c.Args[1:], " ")}
	case "ready":
		w.Node(c.Args[0]).Object.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(moment(t, c.Args[1]))},
		}
	case "at":
		w.now = moment(t, c.Args[0])
	case "after":
		w.now = w.now.Add(storytest.Duration(t, c.Args[0]))
	case "budget":
		w.Pool(c.Args[0]).Disruption.Budgets = []snapshot.Budget{{Nodes: c.Args[1]}}
	case "respond":
		return w.decide().String()
	case "obey":
		w.obey(w.decide())
	case "noted":
		noted := w.Node(c.Args[0]).Claim.Annotations
		out := cmp.Or(noted[drain.DeadlineAnnotation], "none")
		if ignores := noted[drain.IgnoresAnnotation]; ignores != "" {
			out += ", ignores " + ignores
		}
		return out + "\n"
	default:
		if !w.Do(t, c) {
			t.Fatalf("unknown command %q", c.Name)
		}
		if c.Name == "node" {
			n := w.Node(c.Args[0])
			if n.Claim == nil {
				n.Object.Spec.ProviderID = "test://" + n.Name
			} else if n.Initialized() {
				n.Claim.Conditions[snapshot.Initialized] = snapshot.Condition{Status: corev1.ConditionTrue}
				n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}
		}
	}
	return ""
}

func (w *world) decide() *interruption.Decision {
	w.Now = w.now
	return interruption.Decide(&w.Snapshot, w.events)
}

// obey carries a decision out as the controllers would, as far as it shows here.
func (w *world) obey(d *interruption.Decision) {
	for _, r := range d.Responses {
		obey(r)
	}
	for name, b := range d.Buckets {
		w.Pool(name).Buckets = b
	}
	for _, q := range d.Requests {
		w.Requests = slices.DeleteFunc(w.Requests, func(r *snapshot.Request) bool { return r.Name == q.Name })
		if !q.Drop {
			w.Requests = append(w.Requests, &q.Request)
		}
	}
}

func (w *world) answer(t *testing.T, c storytest.Command) {
	for _, q := range w.Requests {
		if q.Claim == w.Node(c.Args[0]).Claim.Name {
			q.Decision = snapshot.Decision(c.Args[1])
			return
		}
	}
	t.Fatalf("nobody asks about %s", c.Args[0])
}

func (w *world) rates(t *testing.T, c storytest.Command) {
	p := &w.Pool(c.Args[0]).Policy.Interruption
	for _, text := range strings.Split(c.Args[1], ",") {
		parts := strings.Split(text, "/")
		p.Rates = append(p.Rates, snapshot.Rate{Scope: snapshot.RateScope(parts[0]), Burst: storytest.Number(t, parts[1]), Every: storytest.Duration(t, parts[2])})
	}
}

func obey(r interruption.Response) {
	object := r.Node.Object
	if r.WriteDeadline {
		note(r.Node.Claim, drain.DeadlineAnnotation, stamp(r.Deadline))
	}
	if r.WriteIgnores {
		note(r.Node.Claim, drain.IgnoresAnnotation, r.Ignores)
	}
	if r.WriteEnds {
		note(r.Node.Claim, drain.EndsAnnotation, stamp(r.Ends))
	}
	switch {
	case r.Uncordon:
		object.Spec.Taints = nil
	case r.Restart != nil:
		object.Spec.Taints = []corev1.Taint{{Key: interruption.CordonTaint, Effect: corev1.TaintEffectNoSchedule}}
	case r.GiveUp:
		delete(r.Node.Claim.Annotations, restart.Annotation)
	case r.Action == snapshot.InterruptionCordon:
		object.Spec.Taints = []corev1.Taint{{Key: interruption.CordonTaint, Effect: corev1.TaintEffectNoSchedule}}
	case r.Keep:
		delete(r.Node.Claim.Annotations, disruption.RequestAnnotation)
	case r.Replace != nil:
		r.Node.Claim.Annotations = map[string]string{disruption.RequestAnnotation: r.Replace.String()}
	case r.Action == snapshot.InterruptionDrain:
		r.Node.Claim.Deleted = start
	}
}

func note(c *snapshot.Claim, key, value string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
	if value == "" {
		delete(c.Annotations, key)
	}
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.RFC3339)
}

func (w *world) rule(t *testing.T, c storytest.Command) {
	r := snapshot.InterruptionRule{
		Events: strings.Split(c.Args[1], ","), Action: snapshot.InterruptionAction(c.Options["action"]),
		EvictDoNotDisrupt: c.Has("evict"), IgnoreBudgets: c.Has("ignore-budgets"), IgnoreGracePeriod: c.Has("ignore-grace"),
		LeaveIfTooLate: c.Has("leave"), ForceAtDeadline: c.Has("force"), RespectDoNotDisrupt: c.Has("respect"), OnlyConfirmed: c.Has("confirmed"),
		RespectPoolBudgets: c.Has("pool-budgets"), KeepPods: c.Has("keep"),
	}
	if c.Has("codes") {
		r.Codes = strings.Split(c.Options["codes"], ",")
	}
	if c.Has("pods") {
		r.Pods = labels.SelectorFromSet(labels.Set{"app": c.Options["pods"]})
	}
	r.Approval = snapshot.Approval(c.Options["approval"])
	if c.Has("waiting") {
		r.Waiting = labels.SelectorFromSet(labels.Set{"app": c.Options["waiting"]})
	}
	if c.Has("lead") {
		lead := storytest.Duration(t, c.Options["lead"])
		r.LeadTime = &lead
	}
	if c.Has("reserve") {
		r.Reserve = storytest.Duration(t, c.Options["reserve"])
	}
	if c.Has("window") {
		r.Windows = []snapshot.Window{weekly(t, c.Options["window"])}
	}
	p := &w.Pool(c.Args[0]).Policy.Interruption
	p.Rules = append(p.Rules, r)
}

// weekly reads DAYS/FROM-TO/ZONE; the days may be left out.
func weekly(t *testing.T, text string) snapshot.Window {
	t.Helper()
	parts := strings.SplitN(text, "/", 3)
	days := "*"
	if parts[0] != "" {
		var list []string
		for _, d := range strings.Split(parts[0], ",") {
			list = append(list, strings.ToUpper(d[:3]))
		}
		days = strings.Join(list, ",")
	}
	from, to, _ := strings.Cut(parts[1], "-")
	opens, closes := clock(t, from), clock(t, to)
	if closes <= opens {
		closes += 24 * time.Hour
	}
	return snapshot.Window{
		Schedule: fmt.Sprintf("%d %d * * %s", int(opens.Minutes())%60, int(opens.Hours()), days),
		Duration: closes - opens, TimeZone: parts[2],
	}
}

func clock(t *testing.T, s string) time.Duration {
	t.Helper()
	h, m, _ := strings.Cut(s, ":")
	return storytest.Duration(t, h+"h"+m+"m")
}

// event announces something, or changes what was announced under that ID.
func (w *world) event(t *testing.T, c storytest.Command) {
	kind, code, _ := strings.Cut(c.Args[1], "/")
	e := interruption.Event{
		ID: c.Args[0], Kind: interruption.Kind(kind), Code: interruption.Code(code), State: interruption.State(c.Options["state"]),
		Issued: w.now, Machine: c.Options["machine"], Zone: c.Options["zone"], Confirmed: c.Has("confirmed"), Source: "test",
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
			*field = w.now.Add(storytest.Duration(t, c.Options[option]))
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
