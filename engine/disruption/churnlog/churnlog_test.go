package churnlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func machine(created time.Duration, price float64) Machine {
	return Machine{&snapshot.Node{Claim: &snapshot.Claim{Created: noon.Add(created)}}, price}
}

func TestEvictionsOfAMinuteAreOneEntryAndOldOnesAreForgotten(t *testing.T) {
	p := &snapshot.Pool{}
	for i, at := range []time.Duration{-25 * time.Hour, 0, 10 * time.Second, 50 * time.Second, time.Minute, 59 * time.Minute, 62 * time.Minute} {
		p.Moves = Note(p, nil, snapshot.PoolMove{Pods: i + 1}, noon.Add(at))
	}
	got := ""
	for _, m := range p.Moves {
		got += fmt.Sprintf("%s %d; ", m.At.Format("15:04"), m.Pods)
	}
	if want := "12:00 9; 12:01 5; 12:59 6; 13:02 7; "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n, until := Evictions(p, noon.Add(62*time.Minute), time.Hour); n != 13 || !until.Equal(noon.Add(119*time.Minute)) {
		t.Errorf("%d evictions in an hour, the first of them forgotten at %s", n, until)
	}
	if n, _ := Evictions(p, noon.Add(62*time.Minute), 2*time.Hour); n != 27 {
		t.Errorf("%d evictions in two hours", n)
	}
	p.Moves = Note(p, nil, snapshot.PoolMove{Pods: 1}, noon.Add(25*time.Hour+30*time.Minute))
	if len(p.Moves) != 1 {
		t.Errorf("after a day there is %v", p.Moves)
	}
}

func TestWhatIsLaunchedForPodsSoonAfterAMoveIsSpentAgain(t *testing.T) {
	p := &snapshot.Pool{}
	p.Moves = Note(p, nil, snapshot.PoolMove{Pods: 3, Saved: 2}, noon)
	for name, tc := range map[string]struct {
		machines []Machine
		spent    float64
	}{
		"nothing was launched":                 {nil, 0},
		"a machine of half the price":          {[]Machine{machine(5*time.Minute, 1)}, 1},
		"never more than was saved":            {[]Machine{machine(time.Minute, 1), machine(2*time.Minute, 5)}, 2},
		"one that was there before":            {[]Machine{machine(-time.Minute, 1)}, 0},
		"one that came later than ten minutes": {[]Machine{machine(11*time.Minute, 1)}, 0},
	} {
		price := 0.0
		for _, m := range tc.machines {
			price += m.Price
		}
		spent, share := Wasted(p, tc.machines, noon.Add(15*time.Minute))
		if spent != tc.spent || share != spent/(2+price) {
			t.Errorf("%s: $%v/h, a share of %v; want $%v/h of $2/h and the machines' $%v/h", name, spent, share, tc.spent, price)
		}
	}
	for key, value := range map[string]string{snapshot.ReplacesAnnotation: "1", RolloutAnnotation: "true"} {
		m := machine(5*time.Minute, 1)
		m.Claim.Annotations = map[string]string{key: value}
		if spent, _ := Wasted(p, []Machine{m}, noon.Add(15*time.Minute)); spent != 0 {
			t.Errorf("one with %s counts as $%v/h", key, spent)
		}
	}
}

func TestThatMachinesCameIsNotedBeforeTheyGoAgain(t *testing.T) {
	p := &snapshot.Pool{}
	p.Moves = Note(p, nil, snapshot.PoolMove{Pods: 3, Saved: 2}, noon)
	if Note(p, nil, snapshot.PoolMove{}, noon.Add(5*time.Minute)) != nil {
		t.Error("there is something to note although nothing came")
	}
	p.Moves = Note(p, []Machine{machine(5*time.Minute, 1)}, snapshot.PoolMove{}, noon.Add(6*time.Minute))
	if spent, _ := Wasted(p, nil, noon.Add(23*time.Hour)); spent != 1 {
		t.Errorf("once it is gone, $%v/h was wasted", spent)
	}
	if spent, _ := Wasted(p, nil, noon.Add(25*time.Hour)); spent != 0 {
		t.Errorf("a day later, $%v/h was wasted", spent)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	p := &snapshot.Pool{}
	for i := range 24 * 60 {
		p.Moves = Note(p, nil, snapshot.PoolMove{Pods: 1}, noon.Add(time.Duration(i)*time.Minute))
	}
	if len(p.Moves) > most+1 {
		t.Errorf("%d entries after a day", len(p.Moves))
	}
}
