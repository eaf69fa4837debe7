package cloudtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Cloud is a fresh, empty cloud under test and what can be done to it.
type Cloud struct {
	// Provider is the provider under test. Required.
	Provider cloud.Provider
	// Class is a node class that is ready, and MissingClass one that does not
	// exist. Required.
	Class, MissingClass snapshot.ClassRef
	// WellKnown are the label keys on which every instance type must say
	// something.
	WellKnown []string
	// Restart makes a second provider on the same cloud, as after a crash of the
	// process, with nothing in memory. Required.
	Restart func() cloud.Provider
	// Advance lets time pass until whatever the cloud does by itself within that
	// time is done. Required.
	Advance func(time.Duration)
	// Settle is the longest time from Terminate until a machine is gone for good.
	Settle time.Duration
	// SellOut makes the cloud unable to deliver these offerings. Nil if it cannot.
	SellOut func(...catalog.Key)
	// LoseReply makes the next launch start a machine and answer with an error.
	// Nil if the cloud cannot.
	LoseReply func()
	// Throttle makes the cloud refuse the next call. Nil if it cannot.
	Throttle func()
}

// Run holds a provider to the contract of cloud.Provider. The function is called
// once for each rule.
func Run(t *testing.T, fresh func(t *testing.T) Cloud) {
	for _, rule := range []struct {
		name string
		test func(*testing.T, Cloud)
	}{
		{"instance types come by name, with offerings in a fixed order", typesAreOrdered},
		{"instance types say something on every well-known label", typesDefineLabels},
		{"a class that does not exist is not ready", missingClass},
		{"a launched machine is the first choice, complete", launchIsComplete},
		{"a launched machine can be got and listed", launchIsVisible},
		{"the same token gives the same machine", tokenIsIdempotent},
		{"the same token gives the same machine after a restart", tokenSurvivesRestart},
		{"the same token gives one machine when launched concurrently", tokenIsIdempotentConcurrently},
		{"different tokens give different machines", tokensDiffer},
		{"choices are tried in order", choicesAreOrdered},
		{"insufficient capacity names the offerings and leaves nothing behind", soldOutLeavesNothing},
		{"a launch whose reply was lost is found by its token", lostReply},
		{"a refused call says that it was throttled", throttled},
		{"a machine that never was is not found", unknownMachine},
		{"terminating shows, ends, and can be repeated", terminates},
		{"terminating leaves the other machines alone", terminatesOne},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.test(t, fresh(t)) })
	}
}

func (c Cloud) types(t *testing.T) []*catalog.Type {
	t.Helper()
	types, err := c.Provider.InstanceTypes(t.Context(), c.Class)
	if err != nil || len(types) == 0 {
		t.Fatalf("%d instance types, error %v", len(types), err)
	}
	return types
}

// choices are the n cheapest available ones.
func (c Cloud) choices(t *testing.T, n int) []catalog.Choice {
	t.Helper()
	all := catalog.Rank(c.types(t), nil, nil, nil)
	if len(all) < n {
		t.Fatalf("the suite needs %d offerings, there are %d", n, len(all))
	}
	return all[:n]
}

func (c Cloud) request(t *testing.T, claim string, choices ...catalog.Choice) cloud.LaunchRequest {
	t.Helper()
	if len(choices) == 0 {
		choices = c.choices(t, 1)
	}
	return cloud.LaunchRequest{
		Token: "uid-of-" + claim, Claim: claim, Pool: "pool", Class: c.Class, Choices: choices,
		Labels: map[string]string{"karpenter.sh/nodepool": "pool"},
		Taints: []corev1.Taint{{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
	}
}

func launch(t *testing.T, p cloud.Provider, req cloud.LaunchRequest) cloud.Instance {
	t.Helper()
	instance, err := p.Launch(t.Context(), req)
	if err != nil {
		t.Fatalf("launching %s: %v", req.Claim, err)
	}
	return instance
}

// ids are the provider IDs that a provider lists, sorted.
func ids(t *testing.T, p cloud.Provider) []string {
	t.Helper()
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatalf("listing: %v", err)
	}
	out := make([]string, len(list))
	for i, instance := range list {
		out[i] = instance.ProviderID
	}
	slices.Sort(out)
	return out
}

func wantIDs(t *testing.T, p cloud.Provider, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := ids(t, p); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

func typesAreOrdered(t *testing.T, c Cloud) {
	types := c.types(t)
	if !slices.IsSortedFunc(types, func(a, b *catalog.Type) int { return compare(a.Name, b.Name) }) {
		t.Error("types are not sorted by name")
	}
	again := c.types(t)
	for i, typ := range types {
		if i > 0 && types[i-1].Name == typ.Name {
			t.Errorf("type %s is listed twice", typ.Name)
		}
		if len(typ.Offerings) == 0 {
			t.Errorf("type %s has no offerings", typ.Name)
		}
		seen := map[string]bool{}
		for j, o := range typ.Offerings {
			if id := fmt.Sprint(o.Zone, o.CapacityType, o.Labels); seen[id] {
				t.Errorf("type %s offers %s twice", typ.Name, id)
			} else {
				seen[id] = true
			}
			if o.Price < 0 || o.Key("") != again[i].Offerings[j].Key("") {
				t.Errorf("type %s: offering %d is %+v, then %+v", typ.Name, j, o, again[i].Offerings[j])
			}
		}
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
			if _, ok := typ.Capacity[resource]; !ok {
				t.Errorf("type %s has no capacity of %s", typ.Name, resource)
			}
		}
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func typesDefineLabels(t *testing.T, c Cloud) {
	keys := append([]string{
		corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable,
		corev1.LabelTopologyZone, catalog.CapacityTypeLabel,
	}, c.WellKnown...)
	for _, typ := range c.types(t) {
		for _, key := range keys {
			if _, ok := typ.Requirements.Lookup(key); !ok {
				t.Errorf("type %s says nothing on %s", typ.Name, key)
			}
		}
		if got := typ.Requirements.Get(corev1.LabelInstanceTypeStable); !slices.Equal(got.Values(), []string{typ.Name}) {
			t.Errorf("type %s has %s", typ.Name, got)
		}
		for _, o := range typ.Offerings {
			if key, conflict := typ.Requirements.Conflict(o.Requirements(), nil); conflict {
				t.Errorf("type %s does not list what offering %s/%s has for %s", typ.Name, o.Zone, o.CapacityType, key)
			}
		}
	}
}

func missingClass(t *testing.T, c Cloud) {
	var notReady *cloud.ClassNotReadyError
	if _, err := c.Provider.InstanceTypes(t.Context(), c.MissingClass); !errors.As(err, &notReady) {
		t.Errorf("InstanceTypes answered %v", err)
	}
	req := c.request(t, "claim")
	req.Class = c.MissingClass
	if _, err := c.Provider.Launch(t.Context(), req); !errors.As(err, &notReady) {
		t.Errorf("Launch answered %v", err)
	}
	wantIDs(t, c.Provider)
}

func launchIsComplete(t *testing.T, c Cloud) {
	choice := c.choices(t, 3)[2]
	req := c.request(t, "claim", choice)
	got := launch(t, c.Provider, req)
	if got.ProviderID == "" || got.Token != req.Token || got.Claim != req.Claim || got.Pool != req.Pool {
		t.Errorf("identity is %q, %q, %q, %q", got.ProviderID, got.Token, got.Claim, got.Pool)
	}
	if key := (catalog.Key{Type: got.Type, Zone: got.Zone, CapacityType: got.CapacityType}); key != choice.Key() {
		t.Errorf("launched %v, want %v", key, choice.Key())
	}
	if got.State != cloud.Pending && got.State != cloud.Running {
		t.Errorf("state is %s", got.State)
	}
	if got.Launched.IsZero() {
		t.Error("no time of launch")
	}
	for key, value := range choice.Labels() {
		if got.Labels[key] != value {
			t.Errorf("label %s is %q, want %q", key, got.Labels[key], value)
		}
	}
	for _, r := range choice.Type.Requirements {
		if value, ok := got.Labels[r.Key()]; ok != r.Possible() && !r.Absent() || ok && !r.Has(value) {
			t.Errorf("label %s is %q, but the type says %s", r.Key(), value, r)
		}
	}
	wantResources(t, "capacity", got.Capacity, choice.Type.Capacity)
	wantResources(t, "allocatable", got.Allocatable, choice.Type.Allocatable())
}

func wantResources(t *testing.T, what string, got, want corev1.ResourceList) {
	t.Helper()
	for name, q := range want {
		if have := got[name]; have.Cmp(q) != 0 {
			t.Errorf("%s of %s is %s, want %s", what, name, have.String(), q.String())
		}
	}
}

func launchIsVisible(t *testing.T, c Cloud) {
	want := launch(t, c.Provider, c.request(t, "claim"))
	c.Advance(0)
	got, err := c.Provider.Get(t.Context(), want.ProviderID)
	if err != nil || !same(got, want) || !requirement.FromLabels(want.Labels).Matches(got.Labels) {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
	wantIDs(t, c.Provider, want.ProviderID)
	wantIDs(t, c.Restart(), want.ProviderID)
}

// same reports whether two answers describe one machine.
func same(a, b cloud.Instance) bool {
	return a.ProviderID == b.ProviderID && a.Token == b.Token && a.Claim == b.Claim && a.Pool == b.Pool &&
		a.Type == b.Type && a.Zone == b.Zone && a.CapacityType == b.CapacityType && a.Launched.Equal(b.Launched)
}

func tokenIsIdempotent(t *testing.T, c Cloud) {
	choices := c.choices(t, 2)
	first := launch(t, c.Provider, c.request(t, "claim", choices[0]))
	second := launch(t, c.Provider, c.request(t, "claim", choices[1], choices[0]))
	if !same(first, second) {
		t.Errorf("launched %+v, then %+v", first, second)
	}
	wantIDs(t, c.Provider, first.ProviderID)
}

func tokenSurvivesRestart(t *testing.T, c Cloud) {
	first := launch(t, c.Provider, c.request(t, "claim"))
	restarted := c.Restart()
	if second := launch(t, restarted, c.request(t, "claim")); !same(first, second) {
		t.Errorf("launched %+v, then %+v", first, second)
	}
	wantIDs(t, restarted, first.ProviderID)
}

func tokenIsIdempotentConcurrently(t *testing.T, c Cloud) {
	const launches = 8
	request := c.request(t, "claim")
	providers := []cloud.Provider{c.Provider, c.Restart()}
	answers, failures := make([]cloud.Instance, launches), make([]error, launches)
	var wg sync.WaitGroup
	for i := range launches {
		wg.Go(func() { answers[i], failures[i] = providers[i%2].Launch(t.Context(), request) })
	}
	wg.Wait()
	for i := range launches {
		// A loser of the race may be told to try again, but never of a second machine.
		if failures[i] == nil && !same(answers[i], launch(t, c.Provider, request)) {
			t.Errorf("launch %d answered %+v", i, answers[i])
		}
	}
	if got := ids(t, c.Provider); len(got) != 1 {
		t.Errorf("there are machines %v, want one", got)
	}
}

func tokensDiffer(t *testing.T, c Cloud) {
	a, b := launch(t, c.Provider, c.request(t, "claim-a")), launch(t, c.Provider, c.request(t, "claim-b"))
	if a.ProviderID == b.ProviderID {
		t.Errorf("both are %s", a.ProviderID)
	}
	wantIDs(t, c.Provider, a.ProviderID, b.ProviderID)
}

func choicesAreOrdered(t *testing.T, c Cloud) {
	if c.SellOut == nil {
		t.Skip("the cloud cannot be made to sell out")
	}
	choices := c.choices(t, 3)
	c.SellOut(choices[0].Key())
	got := launch(t, c.Provider, c.request(t, "claim", choices[0], choices[2], choices[1]))
	if key := (catalog.Key{Type: got.Type, Zone: got.Zone, CapacityType: got.CapacityType}); key != choices[2].Key() {
		t.Errorf("launched %v, want %v", key, choices[2].Key())
	}
}

func soldOutLeavesNothing(t *testing.T, c Cloud) {
	if c.SellOut == nil {
		t.Skip("the cloud cannot be made to sell out")
	}
	choices := c.choices(t, 3)
	c.SellOut(choices[0].Key(), choices[1].Key())
	var insufficient *cloud.InsufficientCapacityError
	_, err := c.Provider.Launch(t.Context(), c.request(t, "claim", choices[:2]...))
	if !errors.As(err, &insufficient) {
		t.Fatalf("answered %v", err)
	}
	for _, choice := range choices[:2] {
		if !slices.Contains(insufficient.Offerings, choice.Key()) {
			t.Errorf("the error names %v, not %v", insufficient.Offerings, choice.Key())
		}
	}
	wantIDs(t, c.Provider)
	// The token is not burnt: with another choice it launches.
	launch(t, c.Provider, c.request(t, "claim", choices[2]))
}

func lostReply(t *testing.T, c Cloud) {
	if c.LoseReply == nil {
		t.Skip("the cloud cannot be made to lose a reply")
	}
	c.LoseReply()
	if _, err := c.Provider.Launch(t.Context(), c.request(t, "claim")); err == nil {
		t.Fatal("the reply was not lost")
	}
	again := launch(t, c.Restart(), c.request(t, "claim"))
	wantIDs(t, c.Provider, again.ProviderID)
}

func throttled(t *testing.T, c Cloud) {
	if c.Throttle == nil {
		t.Skip("the cloud cannot be made to throttle")
	}
	request := c.request(t, "claim")
	c.Throttle()
	var refused *cloud.ThrottledError
	if _, err := c.Provider.Launch(t.Context(), request); !errors.As(err, &refused) {
		t.Fatalf("answered %v", err)
	}
	wantIDs(t, c.Provider)
	launch(t, c.Provider, request)
}

func unknownMachine(t *testing.T, c Cloud) {
	other := launch(t, c.Provider, c.request(t, "claim"))
	for _, id := range []string{"", "nonsense", other.ProviderID + "-not"} {
		if _, err := c.Provider.Get(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("Get(%q) answered %v", id, err)
		}
		if err := c.Provider.Terminate(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("Terminate(%q) answered %v", id, err)
		}
	}
}

func terminates(t *testing.T, c Cloud) {
	id := launch(t, c.Provider, c.request(t, "claim")).ProviderID
	for range 2 {
		if err := c.Provider.Terminate(t.Context(), id); err != nil {
			t.Fatalf("terminating: %v", err)
		}
	}
	restarted := c.Restart()
	got, err := restarted.Get(t.Context(), id)
	if err != nil || got.State != cloud.ShuttingDown {
		t.Errorf("a terminating machine is %q, error %v", got.State, err)
	}
	wantIDs(t, restarted, id)
	c.Advance(c.Settle)
	if _, err := restarted.Get(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Get of a machine that is gone answered %v", err)
	}
	if err := restarted.Terminate(t.Context(), id); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Terminate of a machine that is gone answered %v", err)
	}
	wantIDs(t, restarted)
}

func terminatesOne(t *testing.T, c Cloud) {
	a, b := launch(t, c.Provider, c.request(t, "claim-a")), launch(t, c.Provider, c.request(t, "claim-b"))
	if err := c.Provider.Terminate(t.Context(), a.ProviderID); err != nil {
		t.Fatalf("terminating: %v", err)
	}
	c.Advance(c.Settle)
	wantIDs(t, c.Provider, b.ProviderID)
	if got, err := c.Provider.Get(t.Context(), b.ProviderID); err != nil || got.State == cloud.ShuttingDown {
		t.Errorf("the other machine is %q, error %v", got.State, err)
	}
}
