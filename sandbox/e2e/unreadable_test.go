package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unreadable is a NodePool that the API server admits: its pattern knows no longest duration.
const unreadable = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: unreadable}
spec:
  disruption: {consolidateAfter: 30s, budgets: [{nodes: "1", schedule: "@daily", duration: 9999999999h}]}
  template:
    spec:
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
`

// An object that the API server stores and Go's types refuse costs only itself, whether it is
// there before the controller or comes while it runs, and so it is with commands.
func TestANodePoolThatCannotBeReadCostsOnlyItself(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.manifests(class + "---" + pool("good", "amd64") + "---" + unreadable)
	c.millwright()
	c.manifests(deployment("web", "good", 2, "1", "1Gi"))
	c.eventually(patience, c.running("app=web", 2))
	c.manifests(strings.ReplaceAll(unreadable, "name: unreadable", "name: later"))
	for _, name := range []string{"unreadable", "later"} {
		c.eventually(patience, func() error {
			np, err := c.dynamic.Resource(nodePools).Get(c.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, is := range conditionsOf(np) {
				if is.kind == "ValidationSucceeded" && is.status == "False" && strings.Contains(is.message, "spec.disruption.budgets[0].duration: ") {
					return nil
				}
			}
			return fmt.Errorf("%s does not say what cannot be read: %v", name, conditionsOf(np))
		})
	}
	c.manifests(deployment("more", "good", 3, "1", "1Gi"))
	c.eventually(patience, c.running("app=more", 3))
	for command, says := range map[string]string{
		"why nodepool good":       "nodepool/good has",
		"why nodepool unreadable": "spec.disruption.budgets[0].duration: ",
		"doctor":                  "NodePool unreadable: spec.disruption.budgets[0].duration: ",
	} {
		if out, code := c.command(strings.Fields(command)...); !strings.Contains(out, says) {
			c.Errorf("%s does not say %q, but ends with %d:\n%s", command, says, code, out)
		}
	}
}
