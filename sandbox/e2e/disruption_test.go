package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// disruptedPool is a pool of common machines whose disruption section and template are
// given in YAML's flow style, with more requirements if need be.
func disruptedPool(name, disruption, template string, requirements ...string) string {
	return machinePool(name, disruption, template, append(requirements,
		"{key: kubernetes.io/arch, operator: In, values: [amd64]}",
		"{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}")...)
}

// machinePool is one of on-demand machines that meet requirements.
func machinePool(name, disruption, template string, requirements ...string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  disruption: {%[2]s}
  template:
    metadata: {labels: {team: %[1]s}}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      %[3]s
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      - %[4]s
`, name, disruption, template, strings.Join(requirements, "\n      - "))
}

// drift gives a pool's template an annotation, which makes its machines drift.
func (c *cluster) drift(pool, value string) {
	c.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"example.com/version":%q}}}}}`, value)
	_, err := c.dynamic.Resource(nodePools).Patch(c.Context(), pool, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// knob sets one of the simulated cloud's knobs.
func (c *cluster) knob(name, value string) {
	c.Helper()
	c.manifests(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: millwright-kwok, namespace: kube-system}\ndata: {%s: %q}\n", name, value))
}

func names(claims []unstructured.Unstructured) []string {
	out := make([]string, len(claims))
	for i := range claims {
		out[i] = claims[i].GetName()
	}
	slices.Sort(out)
	return out
}

func condition(claim *unstructured.Unstructured, kind string) bool {
	list, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(item any) bool {
		c, _ := item.(map[string]any)
		return c["type"] == kind && c["status"] == "True"
	})
}

// replaced finds fault as long as one of the old claims is there, or others than
// n.
func (c *cluster) replaced(old []string, n int) error {
	claims := c.claims()
	for _, name := range names(claims) {
		if slices.Contains(old, name) {
			return fmt.Errorf("claim %s is still there", name)
		}
	}
	if len(claims) != n {
		return fmt.Errorf("%d claims, want %d", len(claims), n)
	}
	return nil
}

// Ten machines drift, one pod to each. The controller is killed while replacements
// are on their way, twice. All ten are replaced, none twice, and no pod is without
// a machine before its new one is initialized.
func TestTenMachinesThatDriftAreReplacedAlthoughTheControllerIsKilled(t *testing.T) {
	t.Parallel()
	const size = 10
	c := newCluster(t)
	random := random(t)
	controller := c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: Never, budgets: [{nodes: "100%"}]`, ""))
	c.manifests(spread("web", size))
	c.eventually(patience, c.running("app=web", size))
	old := names(c.claims())

	c.drift("blue", "2")
	for range 2 {
		more := size + 1 + random.IntN(size-1)
		c.eventually(patience, func() error {
			fresh, going := c.turnover(old)
			if size+fresh < more && going == 0 {
				return fmt.Errorf("%d replacements, waiting for %d", fresh, more-size)
			}
			return nil
		})
		controller.Kill()
		controller = c.millwright()
	}
	seen := map[string]bool{}
	c.eventually(patience, func() error {
		for _, claim := range c.claims() {
			seen[claim.GetName()] = true
		}
		if err := c.replaced(old, size); err != nil {
			return err
		}
		return c.running("app=web", size)()
	})
	if fresh := len(seen) - size; fresh > size {
		t.Errorf("%d machines were launched for %d", fresh, size)
	}
	c.eventually(patience, c.accountedFor)
}

// turnover counts the claims that are not among the old ones, and those of the old
// ones that are being deleted; it finds fault if there are more of these than of
// initialized new ones.
func (c *cluster) turnover(old []string) (fresh, going int) {
	c.Helper()
	ready := 0
	for _, claim := range c.claims() {
		switch {
		case slices.Contains(old, claim.GetName()):
			if claim.GetDeletionTimestamp() != nil {
				going++
			}
		default:
			fresh++
			if condition(&claim, "Initialized") {
				ready++
			}
		}
	}
	if going > ready {
		c.Errorf("%d machines go although only %d replacements are initialized", going, ready)
	}
	return fresh, going
}

// Two thirds of the pods go away. The rest ends up on fewer or cheaper machines,
// and none of them waits for a machine on the way.
func TestWhatIsLeftOfAWorkloadMovesToCheaperMachines(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	claims := c.watchClaims()
	c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: Never`, ""))
	c.manifests(deployment("large", "blue", 6, "6", "8Gi") + "---" + deployment("small", "blue", 4, "1", "2Gi"))
	c.eventually(patience, c.running("app=large", 6))
	c.eventually(patience, c.running("app=small", 4))
	before, machines := c.cores(), claims.count()
	c.scale("large", 1)
	c.eventually(patience, c.running("app=large", 1))

	c.manifests(disruptedPool("blue", `consolidateAfter: 3s, consolidationPolicy: WhenEmptyOrUnderutilized, budgets: [{nodes: "100%"}]`, ""))
	c.eventually(patience, func() error {
		if now := c.cores(); 2*now > before {
			return fmt.Errorf("machines with %d cores for 10 that are asked for, were %d", now, before)
		}
		return c.running("app=small", 4)()
	})
	// It may take several steps, and ends: nothing cheaper is left, and no more machines were
	// launched on the way than there were, or are.
	c.eventually(patience, c.settled)
	c.eventually(patience, c.running("app=large", 1))
	left := len(c.claims())
	if more := claims.count() - machines; more > max(machines, left) {
		t.Errorf("%d machines were launched to get from %d to %d", more, machines, left)
	}
	c.eventually(patience, c.accountedFor)
}

// settled finds fault unless every machine stays because nothing cheaper does, or not by enough.
func (c *cluster) settled() error {
	for _, claim := range c.claims() {
		i := slices.IndexFunc(conditionsOf(&claim), func(c claimCondition) bool {
			return c.kind == "Disruptable" && slices.Contains([]string{"NothingCheaper", "SavingTooSmall"}, c.reason)
		})
		if i < 0 {
			return fmt.Errorf("claim %s: %+v", claim.GetName(), conditionsOf(&claim))
		}
	}
	return c.accountedFor()
}

// cores sums the CPUs of all nodes.
func (c *cluster) cores() int64 {
	var sum int64
	for _, n := range c.nodes() {
		sum += n.Status.Capacity.Cpu().Value()
	}
	return sum
}

// Machines of one age expire together. At no time are more of them on their way
// out than the budget allows.
func TestMachinesOfOneAgeExpireWithinTheBudget(t *testing.T) {
	t.Parallel()
	size, budget, age := 20, 4, 2*time.Minute
	if *long {
		size, budget, age = 50, 5, 3*time.Minute
	}
	c := newCluster(t)
	c.millwright()
	departures := c.watchDepartures()
	c.manifests(class + "---" + disruptedPool("blue", fmt.Sprintf(`consolidateAfter: Never, budgets: [{nodes: "%d"}]`, budget), fmt.Sprintf("expireAfter: %.0fs", age.Seconds())))
	c.manifests(spread("web", size))
	c.eventually(patience, c.running("app=web", size))
	old := names(c.claims())
	// Those that come after them do not expire during the test.
	c.must(c.lasting("blue"))
	c.eventually(2*patience, func() error { return c.replaced(old, size) })
	c.eventually(patience, c.running("app=web", size))
	c.eventually(patience, c.accountedFor)
	n, which := departures.most(time.Now(), old)
	t.Logf("%d machines of one age; at most %d on their way out at a time, the budget is %d", size, n, budget)
	if n > budget {
		t.Errorf("%d machines were on their way out at a time, the budget is %d: %s", n, budget, which)
	}
	if n == 0 {
		t.Error("no machine was seen on its way out, which shows nothing")
	}
}

// A machine outlives its age for as long as a budget of zero, a PodDisruptionBudget and a
// pod that must not be disrupted say, and not a minute longer than the policy does.
func TestTheLastDeadlineOfAMachineHoldsAgainstEverything(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; run with -long")
	}
	t.Parallel()
	const age, deadline, grace = 30 * time.Second, 60 * time.Second, 10 * time.Second
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: Never, budgets: [{nodes: "0"}]`, "expireAfter: 30s\n      terminationGracePeriod: 10s") +
		"---" + nodePolicy("blue", "disruption", "expiryDeadline: 60s"))
	c.manifests(strings.Replace(spread("web", 1), "metadata: {labels: {app: web}}", `metadata: {labels: {app: web}, annotations: {karpenter.sh/do-not-disrupt: "true"}}`, 1) + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`)
	c.eventually(patience, c.running("app=web", 1))
	old := names(c.claims())
	ends := c.claims()[0].GetCreationTimestamp().Add(age + deadline)
	c.must(c.lasting("blue"))
	c.throughout(time.Until(ends)-2*time.Second, func() error {
		if n := c.nodes()[old[0]]; len(n.Spec.Taints) > 0 || n.Name == "" {
			return fmt.Errorf("node %s has the taints %v %v before its last deadline", old[0], n.Spec.Taints, time.Until(ends))
		}
		return nil
	})
	c.eventually(patience, func() error { return c.without(old...) })
	late := time.Since(ends)
	t.Logf("the machine was gone %v after its last deadline, its pods have %v", late.Round(time.Second), grace)
	if late > grace+promised(30*time.Second) {
		t.Errorf("the machine was gone %v after its last deadline", late)
	}
	c.eventually(patience, c.running("app=web", 1))
	c.eventually(patience, c.accountedFor)
}

// lasting makes the machines of a pool that are launched from now on last.
func (c *cluster) lasting(pool string) error {
	_, err := c.dynamic.Resource(nodePools).Patch(c.Context(), pool, types.MergePatchType, []byte(`{"spec":{"template":{"spec":{"expireAfter":"Never"}}}}`), metav1.PatchOptions{})
	return err
}

// impatient gives a new machine a few seconds to register.
const impatient = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: impatient}
spec:
  nodePools: {names: [blue]}
  initialization: {launchTimeout: 15s, registrationTimeout: 15s, backoff: {failures: 100}}
`

// A replacement that never registers is given up; the old machine then works on as
// if nothing had been, and the next attempt waits. When machines register again it
// is replaced.
func TestAReplacementThatNeverRegistersLeavesTheOldMachineAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: Never, budgets: [{nodes: "100%"}]`, "") + "---" + impatient)
	c.manifests(spread("web", 1))
	c.eventually(patience, c.running("app=web", 1))
	old := names(c.claims())
	pods := c.uids("app=web")

	c.knob("registrationDelay", "10m")
	c.drift("blue", "2")
	c.eventually(patience, func() error {
		if n := len(c.claims()); n != 2 {
			return fmt.Errorf("%d claims, want the old one and its replacement", n)
		}
		return nil
	})
	c.eventually(patience, func() error {
		node := c.nodes()[old[0]]
		if len(node.Spec.Taints) > 0 || len(c.claims()) > 1 {
			return fmt.Errorf("%d claims, and the old node has the taints %v", len(c.claims()), node.Spec.Taints)
		}
		return nil
	})
	c.throughout(15*time.Second, func() error {
		if n := len(c.claims()); n != 1 {
			return fmt.Errorf("%d claims during the rest after a failure", n)
		}
		if now := c.uids("app=web"); now != pods {
			return fmt.Errorf("the pod has moved")
		}
		return nil
	})
	c.knob("registrationDelay", "2s")
	c.eventually(patience, func() error { return c.replaced(old, 1) })
	c.eventually(patience, c.running("app=web", 1))
	c.eventually(patience, c.accountedFor)
}
