package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// throughHooks is for how long it is watched that nothing happens.
const throughHooks = 3 * time.Second

const hookPolicy = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: hooked}
spec:
  nodePools: {names: [hooked]}
  termination:
    hooks:
    - {name: leaders, before: Drain, annotation: {key: example.com/leaders-moved, value: "true"}, timeout: 1h, onTimeout: Wait}
    - {name: backup, before: Termination, job: {namespace: default}, timeout: 1h, onTimeout: Wait}
`

// A claim that is deleted waits for an annotation before its pod goes, and for a Job
// before its machine does.
func TestHooksAreWaitedForBeforeADrainAndBeforeTheEndOfAMachine(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for name, row := range map[string]struct{ replace, with, want string }{
		"two things to wait for":  {"value: \"true\"}", "value: \"true\"}, condition: {type: X}", "exactly one of"},
		"nothing to wait for":     {", job: {namespace: default}", "", "exactly one of"},
		"a time without a unit":   {"timeout: 1h", "timeout: \"60\"", "should match"},
		"a point that is unknown": {"before: Drain", "before: Launch", "unsupported value"},
	} {
		bad := strings.Replace(hookPolicy, row.replace, row.with, 1)
		if err := c.apply.Text(t.Context(), bad); err == nil || !strings.Contains(strings.ToLower(err.Error()), row.want) {
			t.Errorf("%s: got %v, want a refusal with %q", name, err, row.want)
		}
	}
	c.millwright()
	c.manifests(class + "---" + disruptedPool("hooked", "consolidateAfter: Never", "") + "---" + dweller("hooked") + "---" + hookPolicy)
	c.eventually(patience, c.running("dweller", 1))
	old, before := c.claims()[0].GetName(), c.uids("app=hooked")

	c.must(c.dynamic.Resource(nodeClaims).Delete(t.Context(), old, metav1.DeleteOptions{}))
	c.eventually(patience, func() error { return c.hasCondition(old, "DrainHooksPassed") })
	c.throughout(throughHooks, func() error { return c.stillThere(old, before) })
	if out, _ := c.command("why", "node", old); !strings.Contains(out, "waits for the hook leaders (annotation example.com/leaders-moved: true)") {
		t.Errorf("why does not name the hook:\n%s", out)
	}

	_, err := c.client.CoreV1().Nodes().Patch(t.Context(), old, types.MergePatchType, []byte(`{"metadata": {"annotations": {"example.com/leaders-moved": "true"}}}`), metav1.PatchOptions{})
	c.must(err)
	c.eventually(patience, c.running("dweller", 1))
	c.eventually(patience, func() error { return c.hasCondition(old, "TerminationHooksPassed") })
	if c.uids("app=hooked") == before {
		t.Error("the pod has not moved")
	}
	c.throughout(throughHooks, func() error {
		if len(c.machines()) != 2 {
			return errors.New("the machine has been ended")
		}
		return nil
	})

	c.manifests(fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: backup, labels: {millwright.dev/node: %s, millwright.dev/hook: backup}}
spec: {completions: 0, template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/main}]}}}
`, old))
	c.eventually(patience, func() error { return c.without(old) })
	c.eventually(patience, c.accountedFor)
}

// stillThere finds fault if a machine or a pod on it is not what it was.
func (c *cluster) stillThere(machine, pods string) error {
	if _, there := c.nodes()[machine]; !there || c.uids("app=hooked") != pods {
		return fmt.Errorf("the machine is there: %v; its pods are %s, were %s", there, c.uids("app=hooked"), pods)
	}
	return nil
}
