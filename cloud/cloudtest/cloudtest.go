package cloudtest

import (
	"slices"
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
		{"the same token gives the same machine when its choices have sold out", tokenOutlivesCapacity},
		{"the same token gives one machine when launched concurrently", tokenIsIdempotentConcurrently},
		{"different tokens give different machines", tokensDiffer},
		{"choices are tried in order", choicesAreOrdered},
		{"insufficient capacity names the offerings and leaves nothing behind", soldOutLeavesNothing},
		{"a launch whose reply was lost is found by its token", lostReply},
		{"a refused call says that it was throttled", throttled},
		{"a machine that never was is not found", unknownMachine},
		{"terminating shows, ends, and can be repeated", terminates},
		{"terminating leaves the other machines alone", terminatesOne},
		{"what is attached can be told of a machine until it is gone", attachments},
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

// choices are the n cheapest available ones, of some capacity types or of any.
func (c Cloud) choices(t *testing.T, n int, capacityTypes ...string) []catalog.Choice {
	t.Helper()
	var want requirement.Set
	if len(capacityTypes) > 0 {
		want = requirement.NewSet(requirement.Must(catalog.CapacityTypeLabel, requirement.In, capacityTypes...))
	}
	all := catalog.Rank(c.types(t), want, nil, nil)
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
