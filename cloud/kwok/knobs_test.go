package kwok

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestEveryKnobIsRead(t *testing.T) {
	got, err := ParseKnobs(map[string]string{
		"seed": "7", "bootDelay": "1m", "registrationDelay": "2s", "shutdownDelay": "0s", "nodeDeletionDelay": "5s",
		"delayJitter": "0.5", "insufficientCapacity": "m5.*/a/spot, */b\nt3.nano", "lostReplyRate": "0.1", "lostReplies": "2",
		"throttleRate": "1", "throttles": "3", "retryAfter": "4s", "invisibleFor": "30s", "dead": "a b-*", "deathRate": "2.5", "neverJoin": "c kwok-linux-*", "joinAs": "web-*=ip-1",
		"interruptions": `[{"id": "e1", "kind": "SpotInterruption", "machine": "m", "deadline": "2026-10-12T12:00:00Z"}]`,
	}, Knobs{})
	want := Knobs{
		Seed: 7, BootDelay: time.Minute, RegistrationDelay: 2 * time.Second, NodeDeletionDelay: 5 * time.Second,
		DelayJitter: 0.5, InsufficientCapacity: []Pattern{{"m5.*", "a", "spot"}, {"*", "b", "*"}, {"t3.nano", "*", "*"}},
		LostReplyRate: 0.1, LostReplies: 2, ThrottleRate: 1, Throttles: 3, RetryAfter: 4 * time.Second,
		InvisibleFor: 30 * time.Second, Dead: []string{"a", "b-*"}, DeathRate: 2.5, NeverJoin: []string{"c", "kwok-linux-*"}, JoinAs: []Alias{{"web-*", "ip-1"}},
		Interruptions: []cloud.Event{{ID: "e1", Kind: "SpotInterruption", Machine: "m", Deadline: time.Date(2026, 10, 12, 12, 0, 0, 0, time.UTC), Source: KnobsName}},
	}
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
}

func TestBadKnobsAreNamedAndKeepTheirLastGoodValue(t *testing.T) {
	last := DefaultKnobs()
	last.BootDelay, last.Dead, last.InsufficientCapacity = time.Hour, []string{"x"}, []Pattern{{"y", "*", "*"}}
	bad := map[string]string{
		"seed": "-1", "bootDelay": "soon", "shutdownDelay": "-3s", "delayJitter": "1.1", "insufficientCapacity": "a/b/c/d",
		"lostReplyRate": "NaN", "lostReplies": "some", "throttles": "-1", "deathRate": "Inf", "dead": "[", "bootdelay": "1s", "neverJoin": "[", "joinAs": "web-*=IP",
		"interruptions": `[{"id": "e1", "kind": "SpotInterruption"}]`,
	}
	got, err := ParseKnobs(bad, last)
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", last) {
		t.Errorf("got %+v, want %+v", got, last)
	}
	for key := range bad {
		if !strings.Contains(fmt.Sprint(err), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}

func TestBadKnobsAreReportedOnceAndOthersWork(t *testing.T) {
	w := newWorld(t)
	w.set("bootDelay", "20s")
	w.advance(0)
	w.set("bootDelay", "soon", "registrationDelay", "7s")
	w.advance(3 * time.Second)
	w.set("registrationDelay", "7000ms")
	w.advance(3 * time.Second)
	if k := w.settings.read(t.Context()); k.BootDelay != 20*time.Second || k.RegistrationDelay != 7*time.Second {
		t.Errorf("the knobs are %+v", k)
	}
	if len(w.events.Events) != 1 {
		t.Fatalf("%d events, want 1", len(w.events.Events))
	}
	if got := <-w.events.Events; !strings.Contains(got, `Warning InvalidKnob knob bootDelay: "soon" is not a duration`) {
		t.Errorf("the event is %s", got)
	}
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = DefaultNamespace, KnobsName
	if err := w.client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if k := w.settings.read(t.Context()); k.BootDelay != DefaultKnobs().BootDelay {
		t.Errorf("without the ConfigMap the boot delay is %s", k.BootDelay)
	}
}

func TestACountedFaultStrikesThatOftenEvenAcrossRestarts(t *testing.T) {
	w := newWorld(t)
	w.set("lostReplies", "2")
	lost := 0
	for i := range 4 {
		if _, err := w.restart().Launch(t.Context(), w.request(fmt.Sprint("m", i))); errors.Is(err, ErrReplyLost) {
			lost++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if lost != 2 || w.records() != 4 {
		t.Errorf("%d replies lost of %d machines", lost, w.records())
	}
	var cm corev1.ConfigMap
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: DefaultNamespace, Name: KnobsName}, &cm); err != nil {
		t.Fatal(err)
	}
	if cm.Data["lostReplies"] != "0" {
		t.Errorf("the knob stands at %s", cm.Data["lostReplies"])
	}
}

func TestARateOfLostRepliesStrikesTheSameMachinesUnderTheSameSeed(t *testing.T) {
	strike := func(seed string) string {
		w := newWorld(t)
		w.set("lostReplyRate", "0.3", "seed", seed)
		var lost []string
		for i := range 60 {
			name := fmt.Sprint("m", i)
			if _, err := w.Launch(t.Context(), w.request(name)); errors.Is(err, ErrReplyLost) {
				lost = append(lost, name)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if len(lost) < 8 || len(lost) > 30 {
			t.Errorf("seed %s: %d of 60 replies lost, want about 18", seed, len(lost))
		}
		return strings.Join(lost, " ")
	}
	if a, b := strike("1"), strike("1"); a != b {
		t.Errorf("one seed struck %s, then %s", a, b)
	}
	if a, b := strike("1"), strike("2"); a == b {
		t.Errorf("two seeds struck the same: %s", a)
	}
}

func TestThrottlingSparesSomeCallsAndSaysHowLongToWait(t *testing.T) {
	w := newWorld(t)
	w.set("throttleRate", "0.5", "retryAfter", "7s")
	refused := 0
	for range 40 {
		var throttled *cloud.ThrottledError
		if _, err := w.List(t.Context()); errors.As(err, &throttled) {
			refused++
			if throttled.RetryAfter != 7*time.Second {
				t.Errorf("told to wait %s", throttled.RetryAfter)
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused < 10 || refused > 30 {
		t.Errorf("%d of 40 calls refused, want about 20", refused)
	}
}

func TestNewMachinesAreInvisibleForAWhileButCanBeTerminated(t *testing.T) {
	w := newWorld(t)
	w.set("invisibleFor", "10s")
	a, b := w.launch("a"), w.launch("b")
	w.advance(9 * time.Second)
	if state := w.state(a.ProviderID); state != gone || len(mustList(w)) != 0 {
		t.Errorf("Get sees %s, List %d machines", state, len(mustList(w)))
	}
	if w.node("a") == nil {
		t.Error("the machine itself is held up")
	}
	if err := w.Terminate(t.Context(), b.ProviderID); err != nil {
		t.Errorf("terminating an invisible machine: %v", err)
	}
	w.advance(time.Second)
	if w.state(a.ProviderID) != cloud.Running || len(mustList(w)) != 2 {
		t.Errorf("Get sees %s, List %d machines", w.state(a.ProviderID), len(mustList(w)))
	}
}

func TestMachinesDieAtTheGivenRateAndRepeatably(t *testing.T) {
	const machines = 40
	survivors := func() string {
		w := newWorld(t)
		w.set("deathRate", "1")
		for i := range machines {
			w.launch(fmt.Sprint("m", i))
		}
		for range 61 {
			w.advance(0)
			w.clock.Step(time.Minute)
		}
		var names []string
		for _, instance := range mustList(w) {
			names = append(names, instance.Claim)
		}
		if len(names) < 5 || len(names) > 25 {
			t.Errorf("%d of %d machines survived an hour, want about 15", len(names), machines)
		}
		return strings.Join(names, " ")
	}
	if a, b := survivors(), survivors(); a != b {
		t.Errorf("survivors are %s, then %s", a, b)
	}
}

func TestJitterSpreadsTheBootOfMachines(t *testing.T) {
	w := newWorld(t)
	w.set("bootDelay", "100s", "delayJitter", "0.2")
	for i := range 30 {
		w.launch(fmt.Sprint("m", i))
	}
	machines, err := w.Provider.records.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[time.Duration]bool{}
	for _, m := range machines {
		boot := m.RunsAt.Sub(m.Launched)
		seen[boot] = true
		if boot < 80*time.Second || boot > 120*time.Second {
			t.Errorf("machine %s boots in %s", m.Claim, boot)
		}
	}
	if len(seen) < 25 {
		t.Errorf("30 machines have %d different boot times", len(seen))
	}
}

func TestCapacityThatComesBackCanBeLaunchedAgain(t *testing.T) {
	w := newWorld(t)
	w.set("insufficientCapacity", "c-1x-*")
	var insufficient *cloud.InsufficientCapacityError
	if _, err := w.Launch(t.Context(), w.request("a")); !errors.As(err, &insufficient) {
		t.Errorf("answered %v", err)
	}
	w.set("insufficientCapacity", "")
	w.launch("a")
}

func TestPatternsCoverTypeZoneAndCapacityType(t *testing.T) {
	k := Knobs{InsufficientCapacity: []Pattern{{"m5.*", "us-east-1a", "spot"}, {"*", "us-east-1b", "*"}}}
	for key, want := range map[catalog.Key]bool{
		{Type: "m5.large", Zone: "us-east-1a", CapacityType: "spot"}:      true,
		{Type: "m5.large", Zone: "us-east-1a", CapacityType: "on-demand"}: false,
		{Type: "m5d.large", Zone: "us-east-1a", CapacityType: "spot"}:     false,
		{Type: "m5d.large", Zone: "us-east-1b", CapacityType: "spot"}:     true,
	} {
		if got := k.soldOut(key); got != want {
			t.Errorf("%v sold out: %v, want %v", key, got, want)
		}
	}
}

// A cache may lag behind; the provider must not conclude from it that a machine
// is not there, nor that its node has not been yet.
func TestAnOldCacheNeitherHidesAMachineNorBringsItsNodeBack(t *testing.T) {
	w := newWorld(t)
	old := &oldCache{Client: w.client}
	cached := New(Config{Client: old, Reader: w.client, Clock: w.clock, Types: kwokTypes()})
	instance, err := cached.Launch(t.Context(), w.request("a"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := cached.Get(t.Context(), instance.ProviderID); err != nil || got.Token != instance.Token {
		t.Errorf("Get answered %v, %v", got, err)
	}
	w.clock.Step(3 * time.Second)
	w.advance(0)
	if err := w.client.List(t.Context(), &old.records); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Second)
	if err := w.client.Delete(t.Context(), w.node("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := cached.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.node("a") != nil {
		t.Error("the node came back")
	}
}

func TestAStepOnOldRecordsDoesNotUndoATermination(t *testing.T) {
	w := newWorld(t)
	old := &oldCache{Client: w.client}
	cached := New(Config{Client: old, Reader: w.client, Clock: w.clock, Types: kwokTypes()})
	instance := w.launch("a")
	if err := w.client.List(t.Context(), &old.records); err != nil {
		t.Fatal(err)
	}
	if err := w.Terminate(t.Context(), instance.ProviderID); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Minute)
	if _, err := cached.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := w.state(instance.ProviderID); state != cloud.ShuttingDown || w.node("a") != nil {
		t.Errorf("state is %s, node %v", state, w.node("a"))
	}
}

// oldCache lists the ConfigMaps of some time ago.
type oldCache struct {
	client.Client
	records corev1.ConfigMapList
}

func (c *oldCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if maps, ok := list.(*corev1.ConfigMapList); ok {
		c.records.DeepCopyInto(maps)
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

func TestEveryKnobIsInTheREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for key := range new(Knobs).fields() {
		if !strings.Contains(string(readme), "| `"+key+"` |") {
			t.Errorf("the README does not explain the knob %s", key)
		}
	}
}
