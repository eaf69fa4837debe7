package cloudtest

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
)

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
	if image := choice.Type.Image; image != "" && got.ImageID != image {
		t.Errorf("the image is %q, but the type says %q", got.ImageID, image)
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
	choices := c.choices(t, 3, catalog.OnDemand) // of spot choices the cloud has the last word
	c.SellOut(choices[0].Key())
	req := c.request(t, "claim", choices[0], choices[2], choices[1])
	failed := told(&req)
	got := launch(t, c.Provider, req)
	if key := (catalog.Key{Type: got.Type, Zone: got.Zone, CapacityType: got.CapacityType}); key != choices[2].Key() {
		t.Errorf("launched %v, want %v", key, choices[2].Key())
	}
	wantFailed(t, failed, choices[0])
}

// told are the failures that a launch will tell of.
func told(req *cloud.LaunchRequest) *[]cloud.LaunchFailure {
	var out []cloud.LaunchFailure
	req.Failed = func(f cloud.LaunchFailure) { out = append(out, f) }
	return &out
}

// wantFailed are the offerings that are sold out, whatever else was tried before.
func wantFailed(t *testing.T, got *[]cloud.LaunchFailure, soldOut ...catalog.Choice) {
	t.Helper()
	for _, choice := range soldOut {
		o := choice.Offering
		if !slices.ContainsFunc(*got, func(f cloud.LaunchFailure) bool {
			return f.Zone == o.Zone && f.CapacityType == o.CapacityType && f.Reason == cloud.SoldOut
		}) {
			t.Errorf("told of %+v, not of %v", *got, choice.Key())
		}
	}
}

func soldOutLeavesNothing(t *testing.T, c Cloud) {
	if c.SellOut == nil {
		t.Skip("the cloud cannot be made to sell out")
	}
	choices := c.choices(t, 3)
	c.SellOut(choices[0].Key(), choices[1].Key())
	var insufficient *cloud.InsufficientCapacityError
	req := c.request(t, "claim", choices[:2]...)
	failed := told(&req)
	_, err := c.Provider.Launch(t.Context(), req)
	if !errors.As(err, &insufficient) {
		t.Fatalf("answered %v", err)
	}
	for _, choice := range choices[:2] {
		if !slices.Contains(insufficient.Offerings, choice.Key()) {
			t.Errorf("the error names %v, not %v", insufficient.Offerings, choice.Key())
		}
	}
	wantFailed(t, failed, choices[:2]...)
	wantIDs(t, c.Provider)
	// The token is not burnt: with another choice it launches.
	launch(t, c.Provider, c.request(t, "claim", choices[2]))
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
