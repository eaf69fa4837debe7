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
