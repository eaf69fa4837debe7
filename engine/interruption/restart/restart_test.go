package restart

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC)

// machine is one that restarts, as its cloud and its Node have it.
type machine struct {
	now   time.Time
	state State
	order Order
	node  *snapshot.Node
	boots int
	hooks []snapshot.Hook
	// told is what the cloud was told, in order.
	told []string
}

func newMachine(pods ...string) *machine {
	m := &machine{now: noon, state: Running, order: Order{Events: []string{"e1"}, Kind: "Maintenance"}}
	m.node = &snapshot.Node{Name: "n", Claim: &snapshot.Claim{Name: "c", Annotations: map[string]string{}}, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	for _, name := range pods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: "n"}}
		p.Status.Phase = corev1.PodRunning
		m.node.Pods = append(m.node.Pods, &snapshot.Pod{Pod: p})
	}
	m.boot()
	return m
}

func (m *machine) boot() {
	m.boots++
	m.node.Object.Status.NodeInfo.BootID = fmt.Sprint("boot-", m.boots)
	m.ready(true)
}

func (m *machine) ready(is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	m.node.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
}

// look is one look whose record is kept, as by a controller that was just started.
func (m *machine) look() Step {
	s := Next(View{Order: m.order, State: m.state, View: drain.View{
		Now: m.now, Node: m.node, Budgets: eviction.NewBudgets(nil), Policy: snapshot.Termination{Hooks: m.hooks},
	}})
	m.node.Claim.Annotations[Annotation] = s.Record.Text()
	if s.Do != Nothing {
		m.told = append(m.told, string(s.Do))
	}
	return s
}

func (m *machine) record() Record { return Of(m.node.Claim) }

func (m *machine) after(d time.Duration) *machine {
	m.now = m.now.Add(d)
	return m
}

func TestAMachineIsEmptiedStoppedAndStartedAndTheSameNodeIsBack(t *testing.T) {
	m := newMachine("a")
	if s := m.look(); len(s.Drain.Evict) != 1 || len(m.told) > 0 || m.record().Phase() != "its pods leave" {
		t.Fatalf("at first: %+v", s)
	}
	m.node.Pods = nil
	m.after(drain.MinimumDrain).look()
	m.state = Stopping
	m.ready(false)
	m.after(time.Minute).look()
	m.state = Stopped
	m.after(time.Second).look()
	m.state = Starting
	m.after(time.Second).look()
	m.state = Running
	if m.after(time.Second).look(); !m.record().UnderWay() {
		t.Fatalf("before its Node is back: %+v", m.record())
	}
	m.boot()
	m.after(time.Second).look()
	if r := m.record(); r.UnderWay() || r.Done.IsZero() || strings.Join(m.told, " ") != "stop start" {
		t.Errorf("told %v, record %+v", m.told, r)
	}
}

func TestPodsThatDoNotLeaveHoldTheStopUntilHalfOfTheReserveIsLeft(t *testing.T) {
	m := newMachine("a")
	m.node.Pods[0].Annotations = map[string]string{eviction.DoNotDisruptAnnotation: "true"}
	m.order.StopBy = noon.Add(10 * time.Minute)
	if s := m.look(); s.Do != Nothing || s.Wake.After(m.order.StopBy) {
		t.Fatalf("at first: %+v", s)
	}
	if s := m.after(10 * time.Minute).look(); s.Do != Stop {
		t.Errorf("at the last moment: %+v", s)
	}
}

func TestPodsThatAreKeptOnlyHooksAreWaitedFor(t *testing.T) {
	m := newMachine("a")
	m.order.KeepPods = true
	m.hooks = []snapshot.Hook{{Name: "backup", Before: snapshot.BeforeDrain, Annotation: "backup/done", Timeout: time.Hour}}
	if s := m.look(); s.Do != Nothing || len(s.Drain.Evict) > 0 || s.Drain.Phase != drain.PreDrain {
		t.Fatalf("before the hook: %+v", s)
	}
	m.node.Object.Annotations = map[string]string{"backup/done": "yes"}
	if s := m.look(); s.Do != Stop || len(s.Drain.Evict) > 0 {
		t.Errorf("after it: %+v", s)
	}
}

func TestARestartThatTakesTooLongIsGivenUp(t *testing.T) {
	for name, state := range map[string]State{"does not stop": Stopping, "does not run": Starting} {
		m := newMachine()
		m.look()
		m.after(drain.MinimumDrain).look()
		if state == Starting {
			m.state = Stopped
			m.look()
		}
		m.state = state
		if s := m.after(DefaultTimeout - time.Second).look(); s.Record.Failed != "" || s.Wake.Sub(m.now) > time.Second {
			t.Errorf("%s: before its time: %+v", name, s)
		}
		if s := m.after(time.Second).look(); s.Record.Failed == "" || s.Record.UnderWay() || s.Do != Nothing {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestAStartThatIsRefusedIsTriedAgain(t *testing.T) {
	m := newMachine()
	m.look()
	m.after(drain.MinimumDrain).look()
	m.state = Stopped
	for range 3 {
		m.after(Poll).look()
	}
	if got := strings.Join(m.told, " "); got != "stop start start start" {
		t.Errorf("told %s", got)
	}
}

func TestAMachineThatTheCloudHasStoppedIsOnlyStarted(t *testing.T) {
	m := newMachine("a")
	m.state = Stopped
	m.ready(false)
	m.look()
	m.after(Poll).look()
	if got := strings.Join(m.told, " "); got != "start" {
		t.Errorf("told %s", got)
	}
}

// Whatever a cloud does, and wherever the controller ends, in the middle of a look too, a
// machine that was told to stop is told to start once it has, and a record never goes back.
func TestARestartCutOffAnywhereComesToAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		last := Record{}
		for range 400 {
			m.after(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			s := m.look()
			switch {
			case s.Record.Begun.Before(last.Begun), s.Record.Stop.Before(last.Stop), s.Record.Start.Before(last.Start):
				t.Fatalf("from %+v back to %+v", last, s.Record)
			case s.Do == Start && m.state != Stopped, s.Do == Stop && s.Record.Stop.IsZero():
				t.Fatalf("%s when %s, record %+v", s.Do, m.state, s.Record)
			}
			last = s.Record
			if !last.UnderWay() {
				break
			}
			heard := s.Do != Nothing && rapid.IntRange(0, 2).Draw(t, "heard") > 0 // else it was cut off after the record
			m.moves(s.Do, heard, rapid.Bool().Draw(t, "moves"))
		}
		if last.UnderWay() || last.Done.IsZero() && last.Failed == "" {
			t.Fatalf("without end: %+v, %s", last, m.state)
		}
	})
}

// moves is what the cloud makes of what it was told, or what follows by itself.
func (m *machine) moves(do Do, heard, moves bool) {
	switch {
	case heard && do == Stop && m.state == Running:
		m.state = Stopping
		m.ready(false)
	case heard && do == Start:
		m.state = Starting
	case moves && m.state == Stopping:
		m.state = Stopped
	case moves && m.state == Starting:
		m.state = Running
		m.boot()
	}
}
