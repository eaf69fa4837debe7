package ledger

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func machine(name string, created time.Duration) *snapshot.Node {
	return &snapshot.Node{Name: name, Claim: &snapshot.Claim{Name: name, Created: noon.Add(created), Labels: map[string]string{
		corev1.LabelInstanceTypeStable: "small", corev1.LabelTopologyZone: "a", catalog.CapacityTypeLabel: catalog.Spot,
	}}}
}

func TestMovesOfAMinuteAreOneAndOldOnesAreForgotten(t *testing.T) {
	p := &snapshot.Pool{}
	for i, at := range []time.Duration{0, 10 * time.Second, 50 * time.Second, time.Minute, 59 * time.Minute, 62 * time.Minute} {
		p.Moves = Note(p, Entry{Pods: i + 1}, noon.Add(at))
	}
	p.Moves[1].Gone = map[string]int{"small/a/spot": 1}
	p.Moves = Note(p, Entry{Pods: 0, Gone: []*snapshot.Node{machine("m", -time.Hour), machine("n", -time.Hour)}}, noon.Add(62*time.Minute))
	got := ""
	for _, m := range p.Moves {
		got += fmt.Sprintf("%s %d %d; ", m.At.Format("15:04"), m.Pods, m.Gone["small/a/spot"])
	}
	if want := "12:01 4 0; 12:59 5 1; 13:02 6 2; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n, until := Evictions(p, noon.Add(62*time.Minute)); n != 11 || !until.Equal(noon.Add(119*time.Minute)) {
		t.Errorf("%d evictions until %s", n, until)
	}
}

func TestAPoolLearnsFromMachinesThatComeBackAndRemembersForAWeek(t *testing.T) {
	p := &snapshot.Pool{}
	var live []*snapshot.Node
	note := func(e Entry, at time.Duration) {
		e.Live = live
		p.Moves = Note(p, e, noon.Add(at))
	}
	want := func(at, rest time.Duration) {
		t.Helper()
		if l := Learn(p, live, noon.Add(at)); l.Rest != rest || l.Again != 4*rest || rest > 0 && l.Kind != "small/a/spot" {
			t.Errorf("after %s: %+v, want a rest of %s", at, l, rest)
		}
	}
	note(Entry{Pods: 1, Gone: []*snapshot.Node{machine("m", -time.Hour)}}, 0)
	want(5*time.Minute, 0)
	back := machine("back", 5*time.Minute)
	live = []*snapshot.Node{back}
	want(5*time.Minute, 15*time.Minute)

	back.Claim.Annotations = map[string]string{snapshot.ReplacesAnnotation: "1"}
	want(5*time.Minute, 0) // it was launched by a command, not for pods that wait
	back.Claim.Annotations = nil
	live = []*snapshot.Node{machine("late", 11*time.Minute)}
	want(15*time.Minute, 0)

	live = []*snapshot.Node{back}
	note(Entry{Empty: []*snapshot.Node{back}}, 20*time.Minute)
	live = nil
	want(21*time.Minute, 15*time.Minute) // also when it is gone again
	live = []*snapshot.Node{machine("again", 25*time.Minute)}
	want(30*time.Minute, 15*time.Minute) // an empty machine that comes back teaches as much
	note(Entry{Pods: 1, Gone: live}, time.Hour)
	live = []*snapshot.Node{machine("third", 65*time.Minute)}
	want(70*time.Minute, 30*time.Minute)
	note(Entry{Pods: 1, Gone: []*snapshot.Node{machine("old", -time.Hour)}}, 100*time.Minute)
	live = append(live, machine("fourth", 105*time.Minute))
	want(2*time.Hour, time.Hour)
	note(Entry{Pods: 1, Gone: []*snapshot.Node{machine("old", -time.Hour)}}, 130*time.Minute)
	live = append(live, machine("fifth", 135*time.Minute))
	want(3*time.Hour, time.Hour) // loopFreeze is the most

	note(Entry{Pods: 1}, 30*time.Hour)
	live = nil
	want(30*time.Hour, 15*time.Minute)
	note(Entry{Pods: 1}, 9*24*time.Hour)
	want(9*24*time.Hour, 0)
	if len(p.Moves) != 1 {
		t.Errorf("what is older than a week is still there: %v", p.Moves)
	}
}

func TestLoopFreezeIsTheLongestRest(t *testing.T) {
	p := &snapshot.Pool{}
	p.Moves = Note(p, Entry{Pods: 1, Gone: []*snapshot.Node{machine("m", -time.Hour)}}, noon)
	live := []*snapshot.Node{machine("back", 5*time.Minute)}
	for _, freeze := range []time.Duration{0, time.Minute, 15 * time.Minute} {
		p.Policy.Disruption.LoopFreeze = &freeze
		if l := Learn(p, live, noon.Add(6*time.Minute)); l.Rest != freeze || l.Again != 4*freeze {
			t.Errorf("with a loopFreeze of %s: %+v", freeze, l)
		}
	}
}

// A pool scales out, and within the same minute some of its machines are not needed any
// more.
func TestMachinesLaunchedBeforeARemovalHaveNotComeBack(t *testing.T) {
	p := &snapshot.Pool{}
	live := []*snapshot.Node{machine("one", 4*time.Second), machine("two", 4*time.Second), machine("three", 4*time.Second)}
	p.Moves = Note(p, Entry{Empty: live[:1], Live: live}, noon.Add(45*time.Second))
	live = live[1:]
	if l := Learn(p, live, noon.Add(46*time.Second)); l.Rest != 0 {
		t.Errorf("the others were there before: %+v", l)
	}
	live = append(live, machine("four", 50*time.Second))
	p.Moves = Note(p, Entry{Empty: live[:1], Live: live}, noon.Add(55*time.Second))
	if l := Learn(p, live[1:], noon.Add(56*time.Second)); l.Rest == 0 {
		t.Error("one came back between two removals of a minute, and nothing was learned")
	}
}

func TestInALargePoolAFewMachinesComeBackByChance(t *testing.T) {
	p := &snapshot.Pool{}
	p.Moves = Note(p, Entry{Gone: []*snapshot.Node{machine("a", -time.Hour), machine("b", -time.Hour)}}, noon)
	live := []*snapshot.Node{machine("one", time.Minute)}
	for range 99 {
		live = append(live, machine("old", -time.Hour))
	}
	if l := Learn(p, live, noon.Add(time.Hour)); l.Rest != 0 {
		t.Errorf("one of a hundred: %+v", l)
	}
	live[1] = machine("two", time.Minute)
	if l := Learn(p, live, noon.Add(time.Hour)); l.Rest == 0 {
		t.Error("two of a hundred came back, and nothing was learned")
	}
}

func TestAPoolDoesNotForgetByGrowing(t *testing.T) {
	p, live := &snapshot.Pool{}, []*snapshot.Node{}
	for range 40 {
		live = append(live, machine("old", -time.Hour))
	}
	p.Moves = Note(p, Entry{Empty: live[:1], Live: live}, noon)
	live[0] = machine("back", time.Minute)
	for range 60 {
		live = append(live, machine("more", 2*time.Hour))
	}
	if l := Learn(p, live, noon.Add(3*time.Hour)); l.Rest == 0 {
		t.Error("one of forty came back, and now that there are a hundred it is forgotten")
	}
}

func TestAPoolThatHasLearnedWaitsForTheFullHour(t *testing.T) {
	for _, c := range []struct {
		rest, at, until time.Duration
	}{
		{0, 59 * time.Minute, 0},
		{15 * time.Minute, 49*time.Minute + 59*time.Second, 0},
		{15 * time.Minute, 50 * time.Minute, 62 * time.Minute},
		{time.Hour, 61 * time.Minute, 62 * time.Minute},
		{time.Hour, 62 * time.Minute, 0},
		{time.Minute, 58 * time.Minute, 0},
		{time.Minute, 59 * time.Minute, 62 * time.Minute},
	} {
		want := time.Time{}
		if c.until > 0 {
			want = noon.Add(c.until)
		}
		if got := (Lesson{Rest: c.rest}).Struck(noon.Add(c.at)); !got.Equal(want) {
			t.Errorf("with a rest of %s, %s after noon: until %s, want %s", c.rest, c.at, got, want)
		}
	}
}
