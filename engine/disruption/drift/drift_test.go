package drift_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/disruption/drift"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func TestAMachineDriftsWhenItIsNoLongerWhatItsPoolAsksFor(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*snapshot.Pool, *snapshot.Claim)
		want   string
	}{
		"nothing has changed":            {func(*snapshot.Pool, *snapshot.Claim) {}, ""},
		"another template":               {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Hash = "2" }, drift.NodePoolDrifted},
		"a hash computed in another way": {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Hash, p.HashVersion = "2", "v4" }, ""},
		"a claim that has no hash":       {func(_ *snapshot.Pool, c *snapshot.Claim) { delete(c.Annotations, drift.HashAnnotation) }, ""},
		"not launched yet":               {func(p *snapshot.Pool, c *snapshot.Claim) { p.Hash = "2"; delete(c.Conditions, snapshot.Launched) }, ""},
		"another zone is asked for":      {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Requirements = zone("b") }, drift.RequirementsDrifted},
		"a label is asked for":           {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Requirements = label("team", requirement.Exists) }, drift.RequirementsDrifted},
		"the label is not to be there":   {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Requirements = label("team", requirement.DoesNotExist) }, ""},
		"a label of the pool's that the claim lacks": {func(p *snapshot.Pool, _ *snapshot.Claim) {
			p.Requirements, p.Labels = label("team", requirement.Exists), map[string]string{"team": "a"}
		}, ""},
		"a label that the type has got only since": {func(p *snapshot.Pool, _ *snapshot.Claim) {
			p.Types[0].Requirements, p.Requirements = flex("false"), zone("a").And(flex("false"))
		}, ""},
		"another value of it is asked for": {func(p *snapshot.Pool, _ *snapshot.Claim) {
			p.Types[0].Requirements, p.Requirements = flex("false"), zone("a").And(flex("true"))
		}, drift.RequirementsDrifted},
		"one that the claim has, with another value": {func(p *snapshot.Pool, c *snapshot.Claim) {
			p.Types[0].Requirements, p.Requirements = flex("false"), zone("a").And(flex("false"))
			c.Labels["flex"] = "true"
		}, drift.RequirementsDrifted},
		"the type is gone":                {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Types[0].Name = "other" }, drift.InstanceTypeNotFound},
		"the type is gone, the claim new": {func(p *snapshot.Pool, c *snapshot.Claim) { p.Types[0].Name, c.Created = "other", noon }, ""},
		"the offering is gone":            {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Types[0].Offerings[0].Zone = "b" }, drift.InstanceTypeNotFound},
		"the offering is sold out":        {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Types[0].Offerings[0].Available = false }, ""},
		"the offering is gone, the zone not known": {func(p *snapshot.Pool, c *snapshot.Claim) {
			p.Types[0].Offerings[0].Zone = "b"
			p.Requirements = nil
			delete(c.Labels, corev1.LabelTopologyZone)
		}, ""},
		"bought in another way now": {func(p *snapshot.Pool, c *snapshot.Claim) {
			c.Labels[catalog.CapacityTypeLabel] = catalog.OnDemand
		}, drift.InstanceTypeNotFound},
		"a reservation is over, the type sold on demand": {func(p *snapshot.Pool, c *snapshot.Claim) {
			c.Labels[catalog.CapacityTypeLabel], p.Types[0].Offerings[0].CapacityType = catalog.Reserved, catalog.OnDemand
		}, ""},
		"a reservation is over, the type sold as spot": {func(p *snapshot.Pool, c *snapshot.Claim) {
			c.Labels[catalog.CapacityTypeLabel] = catalog.Reserved
		}, drift.InstanceTypeNotFound},
		"the type is gone from a pool of a fixed size": {func(p *snapshot.Pool, _ *snapshot.Claim) {
			p.Types[0].Name, p.Replicas = "other", new(int64)
		}, ""},
		"the pool's types are not known":   {func(p *snapshot.Pool, _ *snapshot.Claim) { p.Types = nil }, ""},
		"the cloud says so":                {func(_ *snapshot.Pool, c *snapshot.Claim) { mark(c, "AMIDrift") }, "AMIDrift"},
		"a reason of ours that is history": {func(_ *snapshot.Pool, c *snapshot.Claim) { mark(c, drift.NodePoolDrifted) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, c := world()
			tc.change(p, c)
			if got := drift.Find(p, c, noon); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func world() (*snapshot.Pool, *snapshot.Claim) {
	p := &snapshot.Pool{Name: "p", Hash: "1", HashVersion: "v3", Requirements: zone("a"), Types: []*catalog.Type{
		{Name: "small", Offerings: []catalog.Offering{{Zone: "a", CapacityType: catalog.Spot, Available: true}}},
	}}
	return p, &snapshot.Claim{
		Name: "c", Pool: "p", Created: noon.Add(-2 * time.Hour),
		Annotations: map[string]string{drift.HashAnnotation: "1", drift.VersionAnnotation: "v3"},
		Labels: map[string]string{
			corev1.LabelTopologyZone: "a", corev1.LabelInstanceTypeStable: "small", catalog.CapacityTypeLabel: catalog.Spot,
		},
		Conditions: map[string]snapshot.Condition{snapshot.Launched: {Status: corev1.ConditionTrue}},
	}
}

func zone(z string) requirement.Set {
	return requirement.NewSet(requirement.Must(corev1.LabelTopologyZone, requirement.In, z))
}

func flex(v string) requirement.Set {
	return requirement.NewSet(requirement.Must("flex", requirement.In, v))
}

func label(key string, op requirement.Operator) requirement.Set {
	return requirement.NewSet(requirement.Must(key, op))
}

func mark(c *snapshot.Claim, reason string) {
	c.Conditions[snapshot.Drifted] = snapshot.Condition{Status: corev1.ConditionTrue, Reason: reason}
}
