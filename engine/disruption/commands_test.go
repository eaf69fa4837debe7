package disruption

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestALastLookFindsAPodThatNoPlaceIsPlannedFor(t *testing.T) {
	const drifted = "pool p sells=small:4:1 hash=2\nnode a pool=p type=small cpu=4 hash=1 command=Drifted/claim-a\nnode b pool=p type=small cpu=4 hash=2\npod x/a cpu=1 on=a"
	d := Decide(build(t, drifted), Options{})
	if len(d.Commands) != 1 || d.Commands[0].Step != Remove {
		t.Fatalf("commands: %+v", d.Commands)
	}
	for live, want := range map[string]plan.Code{
		drifted:                          "",
		drifted + "\npod x/b cpu=1 on=a": plan.HasPods,
		drifted + "\npod x/b cpu=1 on=a of=DaemonSet": "",
	} {
		if reason, stays := d.Still(d.Commands[0], build(t, live).Nodes[0]); stays != (want != "") || stays && reason.Code != want {
			t.Errorf("%q: stays %t because %s, want %q", live, stays, reason.Code, want)
		}
	}
}

func TestAReplacementCannotBecomeDearerThanItMayBe(t *testing.T) {
	const before = "pool p hash=2 policy=WhenEmptyOrUnderutilized sells=old:16:4,small:4:1,small2:4:1.4,middle:8:1.6,spot:8:1.2:spot\nnode a pool=p type=old cpu=16 "
	for command, want := range map[string]string{
		"command=Underutilized/claim-a//1.5": "small small2",
		"command=Underutilized/claim-a//1.6": "small small2 middle",
		"command=Drifted/claim-a":            "small spot small2 middle old",
	} {
		d := Decide(build(t, before+"hash=1 "+command+"\npod x/a cpu=3 on=a"), Options{})
		if len(d.Commands) != 1 || len(d.Commands[0].Launch) != 1 {
			t.Errorf("%s: %+v", command, d.Commands)
			continue
		}
		var types []string
		for _, a := range d.Commands[0].Launch[0].Alternatives {
			types = append(types, a.Type.Name)
		}
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%s: it may become one of %q, want %q", command, got, want)
		}
	}
}

// Pods that move go to machines that stay when the budget allows more: there they need not
// move again.
func TestPodsAreNotMovedToAMachineThatWillGoNext(t *testing.T) {
	var text strings.Builder
	fmt.Fprintln(&text, "pool p policy=WhenEmptyOrUnderutilized sells=small:4:1,large:8:2 budget=1")
	for _, name := range []string{"a", "b", "c", "d"} {
		fmt.Fprintf(&text, "node %[1]s pool=p type=large cpu=8\npod x/%[1]s cpu=1 on=%[1]s\n", name)
	}
	fmt.Fprintln(&text, "node e pool=p type=small cpu=4\npod x/e cpu=2 on=e") // the fullest
	fmt.Fprintln(&text, "node f pool=p type=large cpu=8")
	for i := range 5 {
		fmt.Fprintf(&text, "pod x/f-%d cpu=200m on=f\n", i)
	}
	d := Decide(build(t, text.String()), Options{})
	if len(d.Commands) != 1 || len(d.Commands[0].Placements) != 1 {
		t.Fatalf("commands: %+v", d.Commands)
	}
	if p := d.Commands[0].Placements[0]; p.Node.Name != "f" {
		t.Errorf("%s goes to %s", p.Pod.Name, p.Node.Name)
	}
}

func TestADecisionAsksPlacementAboutAFewMachinesOfManyAndTheNextGoesOn(t *testing.T) {
	var text strings.Builder
	fmt.Fprintln(&text, "pool p hash=2 sells=small:4:1")
	const machines = 300
	for i := range machines {
		fmt.Fprintf(&text, "node n%03[1]d pool=p type=small cpu=4 hash=1\npod x/%[1]d cpu=3 on=n%03[1]d\n", i)
	}
	d := Decide(build(t, text.String()), Options{})
	first := len(d.Commands)
	if most := work/machines + 1; first == 0 || first > most {
		t.Errorf("%d of %d machines begin, want at most %d", first, machines, most)
	}
	left := 0
	for _, v := range d.Verdicts {
		if v.Reason.Message() == "is examined in one of the next passes" {
			left++
		}
	}
	if first+left != machines {
		t.Errorf("%d begin, %d wait for the next decision", first, left)
	}
}

func TestMachinesThatCannotBeReplacedKeepNoOtherFromItsTurn(t *testing.T) {
	const machines = 120
	var text strings.Builder
	fmt.Fprintf(&text, "pool full hash=2 sells=small:4:1 limit=%d\n", machines)
	for i := range machines {
		fmt.Fprintf(&text, "node a%03[1]d pool=full type=small cpu=4 hash=1\npod x/%[1]d cpu=3 type=small app=x on=a%03[1]d\n", i)
		for range 20 {
			fmt.Fprintf(&text, "pod x/agent of=DaemonSet on=a%03d\n", i)
		}
	}
	text.WriteString(`
pool p hash=2 sells=mini:4:1,large:16:4 policy=WhenEmptyOrUnderutilized
node drifted pool=p type=mini cpu=4 hash=1
pod x/drifted cpu=3 type=mini app=x on=drifted
node dear pool=p type=large cpu=16 hash=2
pod x/dear cpu=3 app=x on=dear
node alone pool=p type=mini cpu=4 hash=2
pod x/alone cpu=1 apart=x on=alone
`)
	s := build(t, text.String())
	begun := map[string]bool{}
	for turn := int64(1); turn <= 10 && len(begun) < 2; turn++ {
		for _, c := range Decide(s, Options{Turn: turn}).Commands {
			begun[c.Nodes[0].Name] = true
		}
	}
	if !begun["drifted"] || !begun["dear"] {
		t.Errorf("what begins sooner or later is only %v", begun)
	}
}

func TestMachinesThatNothingCheaperCanStandInForKeepNoOtherFromItsTurn(t *testing.T) {
	var text strings.Builder
	text.WriteString("pool p policy=WhenEmptyOrUnderutilized sells=small:4:1,large:16:4\n")
	for i := range 600 {
		fmt.Fprintf(&text, "node a%03[1]d pool=p type=large cpu=16\npod x/%[1]d cpu=1 type=large apart=x app=x on=a%03[1]d\n", i)
	}
	text.WriteString("node dear pool=p type=large cpu=16\npod x/dear cpu=3 apart=x app=x on=dear\npod x/agent of=DaemonSet on=dear")
	s := build(t, text.String())
	agent := s.Nodes[len(s.Nodes)-1].Pods[1]
	for _, n := range s.Nodes {
		n.Pods = append(n.Pods, slices.Repeat([]*snapshot.Pod{agent}, 150)...)
	}
	for turn := range int64(10) {
		if d := Decide(s, Options{Turn: turn + 1}); len(d.Commands) == 1 && d.Commands[0].Nodes[0].Name == "dear" {
			return
		}
	}
	v, _ := Decide(s, Options{Turn: 1}).Verdict("dear")
	t.Errorf("it is not examined in ten passes: %s", v.Reason.Message())
}

func TestOnlyAConsolidationThatLaunchesBoundsWhatItMayCost(t *testing.T) {
	const dear = "pool p policy=WhenEmptyOrUnderutilized min-saving=0.25 sells=small:4:1,large:16:4\nnode dear pool=p type=large cpu=16\npod x/dear cpu=3 on=dear\n"
	for text, want := range map[string]float64{dear: 3, dear + "node other pool=p type=large cpu=16\npod x/other cpu=9 on=other": 0} {
		d := Decide(build(t, text), Options{})
		if len(d.Commands) != 1 || d.Commands[0].Spend != want {
			t.Errorf("%s\n\n%+v, want one that costs at most %v", text, d.Commands, want)
		}
	}
}

func TestADecisionSaysWhenTimeAloneMayChangeIt(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"node a pool=p":          0,
		"node a pool=p event=1m": 4 * time.Minute,
		"node a pool=p event=2m\nnode b pool=p event=1m":          3 * time.Minute,
		"node a pool=p event=1m\nnode b pool=p event=2m":          3 * time.Minute,
		"node a pool=p asked=Interrupted@1m/spot/2m notready":     2 * time.Minute,
		"node a pool=p event=1m\nnode b pool=p tainted marked=1s": time.Second,
	} {
		s := build(t, "pool p\n"+text)
		d := Decide(s, Options{})
		got := time.Duration(0)
		if !d.Recheck.IsZero() {
			got = d.Recheck.Sub(s.Now)
		}
		if got != want {
			t.Errorf("%q: in %s, want %s", text, got, want)
		}
	}
}

func TestMachinesOfOneAgeDoNotExpireAtOnce(t *testing.T) {
	var at []time.Time
	for i := range 20 {
		s := build(t, fmt.Sprintf("pool p\nnode n%d pool=p expires=10h", i))
		at = append(at, Expires(s.Nodes[0].Claim))
	}
	slices.SortFunc(at, time.Time.Compare)
	full := noon.Add(9 * time.Hour)
	if spread := at[len(at)-1].Sub(at[0]); spread < 30*time.Minute || at[0].Before(full.Add(-time.Hour)) || at[len(at)-1].After(full) {
		t.Errorf("between %s and %s", at[0], at[len(at)-1])
	}
}
