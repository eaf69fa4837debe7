package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quota denies NodeClaims as a quota or a policy of the cluster would.
const quota = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-claims}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [karpenter.sh], apiVersions: [v1], operations: [CREATE], resources: [nodeclaims]}]
  validations: [{expression: "false", message: "the budget of this quarter is spent"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-claims}
spec: {policyName: no-claims, validationActions: [Deny]}
`

func TestClaimsThatTheAPIServerRefusesAreToldAndTriedLater(t *testing.T) {
	t.Parallel()
	const words = "the budget of this quarter is spent"
	c := newCluster(t)
	c.manifests(class + "---" + pool("refused", "amd64") + "---" + quota)
	c.millwright()
	c.eventually(patience, func() error { // the policy is in force a moment after it is there
		if err := c.apply.Text(c.Context(), claimByHand); err == nil || !strings.Contains(err.Error(), words) {
			return errors.New("a NodeClaim by hand: " + fmt.Sprint(err))
		}
		return nil
	})
	c.manifests(deployment("refused", "refused", 20, "3", "1Gi"))
	c.eventually(patience, func() error { return c.poolSays("refused", "LaunchesRefused", words) })
	c.eventually(patience, func() error { return c.eventSays("LaunchesRefused", words) })
	if answer := c.ask("why", "pod", c.pods("app=refused")[0].Name, "--namespace", "default"); !strings.Contains(answer, words) {
		c.Errorf("millwright why pod says:\n%s", answer)
	} else {
		c.Logf("millwright why pod says:\n%s", answer)
	}
	c.throughout(10*time.Second, func() error {
		if lines := c.logged(words); len(lines) != 1 {
			return fmt.Errorf("%d log lines with the API server's words:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		return nil
	})
	c.must(c.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(c.Context(), "no-claims", metav1.DeleteOptions{}))
	c.eventually(promised(90*time.Second), c.running("app=refused", 20))
	c.eventually(patience, func() error {
		if c.poolSays("refused", "LaunchesRefused", "") == nil {
			return fmt.Errorf("the pool still has its condition")
		}
		return nil
	})
}

const claimByHand = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: by-hand}
spec:
  nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
  requirements: [{key: kubernetes.io/arch, operator: Exists}]
`

// logged are the lines of the controller's log that contain a text.
func (c *cluster) logged(text string) []string {
	c.Helper()
	all, err := os.ReadFile(filepath.Join(c.dir, "millwright.log"))
	c.must(err)
	return slices.DeleteFunc(strings.Split(string(all), "\n"), func(line string) bool { return !strings.Contains(line, text) })
}

// A machine's life is one line a step, a start is one line, and nothing is an error.
func TestTheLogTellsTheLifeOfAMachineInALineAStep(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	elsewhere := strings.NewReplacer("karpenter.kwok.sh", "karpenter.k8s.aws", "KWOKNodeClass, name: default", "EC2NodeClass, name: elsewhere").Replace(pool("elsewhere", "amd64"))
	c.manifests(class + "---" + pool("life", "amd64") + "---" + elsewhere + "---" + deployment("life", "life", 3, "1", "1Gi"))
	c.millwright()
	log := c.watchClaims()
	c.eventually(patience, c.running("app=life", 3))
	c.manifests(deployment("life", "life", 0, "1", "1Gi"))
	c.eventually(patience, func() error {
		if n := len(log.of("life")); n == 0 || remaining(log.of("life")) > 0 {
			return fmt.Errorf("%d machines, %d are left", n, remaining(log.of("life")))
		}
		return nil
	})
	machines := len(log.of("life"))
	c.eventually(patience, func() error {
		for _, step := range []string{"created nodeclaim", "launched nodeclaim", "registered nodeclaim", "initialized nodeclaim", "disrupting node(s)", "deleted nodeclaim"} {
			lines := c.logged(`"message":"` + step + `"`)
			if len(lines) != machines {
				return fmt.Errorf("%d lines of %q for %d machines", len(lines), step, machines)
			}
			for _, line := range lines {
				c.must(c.complete(step, line))
			}
		}
		return nil
	})
	if lines := c.logged(`"message":"starting millwright"`); len(lines) != 1 || !strings.Contains(lines[0], `"provider":"kwok"`) {
		c.Errorf("the start: %q", lines)
	}
	if lines := c.logged(`"message":"NodePools in reach"`); len(lines) != 1 || !strings.Contains(lines[0], `["life"]`) {
		c.Errorf("the pools in reach: %q", lines)
	}
	if lines := c.logged("NodePool is out of reach"); len(lines) != 1 || !strings.Contains(lines[0], "EC2NodeClass.karpenter.k8s.aws/elsewhere") {
		c.Errorf("the pools out of reach: %q", lines)
	}
	for _, unwanted := range []string{`"level":"error"`, "Starting EventSource", "Starting workers", `"pods":0,`} {
		if lines := c.logged(unwanted); len(lines) > 0 {
			c.Errorf("%d lines with %s:\n%s", len(lines), unwanted, strings.Join(lines, "\n"))
		}
	}
}

// complete finds fault with a line of a step that lacks what it should name.
func (c *cluster) complete(step, line string) error {
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return fmt.Errorf("log line %s: %w", line, err)
	}
	want := []string{"NodePool", "NodeClaim"}
	if step != "created nodeclaim" {
		want = append(want, "provider-id", "instance-type", "zone", "capacity-type", "price-per-hour")
	}
	for _, key := range want {
		if fields[key] == nil {
			return fmt.Errorf("no %s in %s", key, line)
		}
	}
	return nil
}
