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

func TestALoopIsSeenAlsoWhenTheMachineThatCameBackIsGoneAgain(t *testing.T) {
	p := &snapshot.Pool{}
	remove := func(created, at time.Duration) {
		p.Moves = Note(p, Entry{Pods: 1, Gone: []*snapshot.Node{machine("m", created)}}, noon.Add(at))
	}
	remove(-time.Hour, 0)
	remove(5*time.Minute, 10*time.Minute) // it came back, and went again
	back := machine("back", 15*time.Minute)
	now := noon.Add(16 * time.Minute)
	if _, _, loops := Looping(p, nil, now); loops {
		t.Error("once is no loop")
	}
	kind, until, loops := Looping(p, []*snapshot.Node{back}, now)
	if !loops || kind != "small/a/spot" || !until.Equal(noon.Add(75*time.Minute)) {
		t.Errorf("loops %t, %s until %s", loops, kind, until)
	}
	remove(15*time.Minute, 80*time.Minute)
	if _, until, loops := Looping(p, []*snapshot.Node{machine("again", 85*time.Minute)}, noon.Add(90*time.Minute)); !loops || !until.Equal(noon.Add(205*time.Minute)) {
		t.Errorf("the third time the pool rests for two hours: loops %t until %s", loops, until)
	}
	p.Moves = p.Moves[:2]
	back.Claim.Annotations = map[string]string{snapshot.ReplacesAnnotation: "1"}
	if _, _, loops := Looping(p, []*snapshot.Node{back}, now); loops {
		t.Error("a replacement has not come back by itself")
	}
}
