package e2e

import (
	"strings"
	"testing"
)

// The CRDs are Karpenter's; these are rules of theirs that only a real API
// server enforces.
func TestTheAPIServerRefusesWhatTheCRDsForbid(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + pool("good", "amd64"))
	for name, row := range map[string]struct{ replace, with, want string }{
		"a schedule without a duration":            {`{nodes: "100%"}`, `{nodes: "1", schedule: "@daily"}`, "'schedule' must be set with 'duration'"},
		"In without values":                        {`values: [amd64]`, `values: []`, "must have a value defined"},
		"a label of Karpenter's own domain":        {`{team: bad}`, `{karpenter.sh/custom: x}`, "restricted"},
		"a requirement on the hostname":            {`key: kubernetes.io/arch`, `key: kubernetes.io/hostname`, "restricted"},
		"a budget that is not a count or a share":  {`"100%"`, `"101%"`, "should match"},
		"a bound that is not an integer":           {`operator: In, values: [amd64]`, `operator: Gt, values: [x]`, "integer"},
		"a consolidation policy that is not known": {`WhenEmpty,`, `Whenever,`, "Unsupported value"},
		"replicas together with a weight":          {"\nspec:\n", "\nspec:\n  replicas: 2\n  weight: 5\n", "'weight' is not supported on static NodePools"},
	} {
		text := pool("bad", "amd64")
		bad := strings.Replace(text, row.replace, row.with, 1)
		if bad == text {
			t.Fatalf("%s: nothing to replace", name)
		}
		err := c.apply.Text(t.Context(), bad)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(row.want)) {
			t.Errorf("%s: got %v, want a refusal with %q", name, err, row.want)
		}
	}
}

// What NodePolicy.spec.disruption cannot mean is refused by the API server itself, and
// the refusal names the field.
func TestTheAPIServerRefusesDisruptionPoliciesThatMeanNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	policy := func(disruption string) string {
		return "apiVersion: millwright.dev/v1alpha1\nkind: NodePolicy\nmetadata: {name: a}\nspec: {nodePools: {selector: {}}, disruption: " + disruption + "}\n"
	}
	c.manifests(policy(`{freeze: until Monday, defaultDeny: true, budgets: [{across: Cluster, nodes: "10%"}, {across: Zone, nodes: "0", reasons: [Empty, Drifted, Underutilized]}],
		evictionsPerHour: 1, workloadCooldown: 5m, paybackTime: 1h30m, podMoveCost: "0.002", loopFreeze: 24h, minNodeAge: 10m, minSavingPercent: 99,
		spotToSpot: {minSavingPercent: 100, minTypes: 60}, ignoreJobs: true, expiryDeadline: 8760h, windows: [{schedule: "0 22 * * mon-fri", duration: 6h, timeZone: Europe/Berlin}]}`))
	for disruption, want := range map[string]string{
		`{freeze: "` + strings.Repeat("x", 201) + `"}`:                     "spec.disruption.freeze: too long",
		`{defaultDeny: "yes"}`:                                             "spec.disruption.defaultDeny",
		`{defaultDenny: true}`:                                             "spec.disruption.defaultDenny",
		`{budgets: [{nodes: "1"}]}`:                                        "spec.disruption.budgets[0].across: required",
		`{budgets: [{across: Region, nodes: "1"}]}`:                        `spec.disruption.budgets[0].across: unsupported value: "Region"`,
		`{budgets: [{across: Zone, nodes: "101%"}]}`:                       "spec.disruption.budgets[0].nodes",
		`{budgets: [{across: Zone, nodes: "1", reasons: [Expired]}]}`:      `spec.disruption.budgets[0].reasons[0]: unsupported value: "Expired"`,
		`{evictionsPerHour: 0}`:                                            "spec.disruption.evictionsPerHour",
		`{workloadCooldown: 5 minutes}`:                                    "spec.disruption.workloadCooldown",
		`{paybackTime: 1d}`:                                                "spec.disruption.paybackTime",
		`{podMoveCost: "0.01"}`:                                            "podMoveCost is weighed against paybackTime, which is missing",
		`{paybackTime: 1h, podMoveCost: "0,01"}`:                           "spec.disruption.podMoveCost",
		`{loopFreeze: 25h}`:                                                `spec.disruption.loopFreeze: invalid value: "25h": at most 24h`,
		`{minNodeAge: 99999999h}`:                                          "spec.disruption.minNodeAge",
		`{minSavingPercent: 100}`:                                          "spec.disruption.minSavingPercent",
		`{spotToSpot: {minTypes: 61}}`:                                     "spec.disruption.spotToSpot.minTypes",
		`{expiryDeadline: forever}`:                                        "spec.disruption.expiryDeadline",
		`{windows: [{schedule: "@daily", duration: 0s}]}`:                  "a window needs a duration",
		`{windows: [{schedule: at night, duration: 1h}]}`:                  "spec.disruption.windows[0].schedule",
		`{windows: [{schedule: "TZ=UTC 0 1 * * *", duration: 1h}]}`:        "spec.disruption.windows[0].schedule",
		`{windows: [{schedule: "@daily"}]}`:                                "spec.disruption.windows[0].duration: required",
		`{windows: [{schedule: "0 24 * * *", duration: 1h}]}`:              "spec.disruption.windows[0].schedule: invalid value: \"0 24 * * *\": the second field, hour, is 0 to 23",
		`{windows: [{schedule: "@daily", duration: 1h, timeZone: Local}]}`: "spec.disruption.windows[0].timezone",
	} {
		err := c.apply.Text(t.Context(), policy(disruption))
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%s: got %v, want a refusal with %q", disruption, err, want)
		}
	}
}

func TestTheSpecOfAClaimCannotBeChanged(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	claim := `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: by-hand}
spec:
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`
	c.manifests(claim)
	err := c.apply.Text(t.Context(), strings.Replace(claim, "amd64", "arm64", 1))
	if err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("got %v, want a refusal", err)
	}
}
