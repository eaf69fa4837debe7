package admission

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var nodePolicy = schema.GroupVersionKind{Group: "millwright.dev", Version: "v1alpha1", Kind: "NodePolicy"}

func TestANodePolicyThatContradictsItselfIsRefused(t *testing.T) {
	policy := func(pools, initialization string) string {
		return fmt.Sprintf(`
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: a}
spec:
  nodePools: %s
  initialization: %s
`, pools, initialization)
	}
	const byName = "{names: [web]}"
	for name, test := range map[string]struct{ text, want string }{
		"by name":                             {policy(byName, "{timeout: Never}"), ""},
		"by label, everything set":            {policy("{selector: {}}", "{launchTimeout: 1m, registrationTimeout: 1m, timeout: 20m, onTimeout: Retain, staleUninitialized: {grace: 1m, action: Remove}, readyDaemonSets: [{selector: {}}, {namespace: a, name: b}], nodeConditions: [{type: A}], csiDrivers: [a], undeclaredTaints: Ignore, backoff: {failures: 1, initial: 1s, max: 1s}}"), ""},
		"neither names nor labels":            {policy("{}", "{}"), "give either names or selector"},
		"both":                                {policy("{names: [a], selector: {}}", "{}"), "give either names or selector"},
		"registration before launch":          {policy(byName, "{launchTimeout: 10m, registrationTimeout: 5m}"), "must not be shorter"},
		"registration before default launch":  {policy(byName, "{registrationTimeout: 2m}"), "must not be shorter"},
		"no time at all":                      {policy(byName, "{timeout: 0s}"), "at least 1s, or Never"},
		"not a duration":                      {policy(byName, "{timeout: soon}"), "should match"},
		"an unknown consequence":              {policy(byName, "{onTimeout: Reboot}"), "Unsupported value"},
		"a DaemonSet without its namespace":   {policy(byName, "{readyDaemonSets: [{name: cni}]}"), "a name needs its namespace"},
		"a CSI driver without a name":         {policy(byName, `{csiDrivers: [""]}`), "spec.initialization.csiDrivers[0]"},
		"a CSI driver's name that none has":   {policy(byName, `{csiDrivers: [ebs.csi.aws.com, "a b"]}`), "spec.initialization.csiDrivers[1]"},
		"conditions as they are called":       {policy(byName, `{nodeConditions: [{type: NetworkingReady}, {type: example.com/gpu-ready}]}`), ""},
		"a condition's type that none has":    {policy(byName, `{nodeConditions: [{type: "a b"}]}`), "spec.initialization.nodeConditions[0].type"},
		"a pause that is longer than allowed": {policy(byName, "{backoff: {initial: 2h}}"), "max must not be shorter"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, err := CustomResource(nodePolicy, asJSON(t, test.text))
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, p := range problems {
				texts = append(texts, p.Error())
			}
			got := strings.Join(texts, "; ")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
