package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/eviction"
)

// Budgets for each reason, and one that forbids a reason for two minutes: machines
// that are empty go two at a time all along, those that have drifted not at all in
// the first two minutes, and then one at a time. Beside them a pod that kube-scheduler
// refuses for ever keeps no machine idle.
func TestBudgetsByReasonAndScheduleHoldAtEveryInstant(t *testing.T) {
	t.Parallel()
	const used, unused = 3, 5
	c := newCluster(t)
	c.millwright()
	departures := c.watchDepartures()
	c.manifests(class + "---" + disruptedPool("blue", `consolidateAfter: Never`, ""))
	refused := c.refusedForEver()
	c.manifests(spread("used", used) + "---" + spread("unused", unused))
	c.eventually(patience, c.running("app=used", used))
	c.eventually(patience, c.running("app=unused", unused))
	drifted, empty := c.nodesOf("app=used"), c.nodesOf("app=unused")

	c.scale("unused", 0)
	c.eventually(patience, c.running("app=unused", 0))
	now := time.Now().UTC().Truncate(time.Minute)
	opens := now.Add(2 * time.Minute)
	patch := fmt.Sprintf(`{"spec": {
		"disruption": {"consolidateAfter": "1s", "consolidationPolicy": "WhenEmpty", "budgets": [
			{"nodes": "2", "reasons": ["Empty"]},
			{"nodes": "1", "reasons": ["Drifted"]},
			{"nodes": "0", "reasons": ["Drifted"], "schedule": "%d %d * * *", "duration": "2m"}
		]},
		"template": {"metadata": {"annotations": {"example.com/version": "2"}}}
	}}`, now.Minute(), now.Hour())
	_, err := c.dynamic.Resource(nodePools).Patch(t.Context(), "blue", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)

	c.eventually(2*patience, func() error { return c.without(append(slices.Clone(drifted), empty...)...) })
	c.eventually(patience, c.running("app=used", used))
	refused.told(0)
	c.must(c.client.CoreV1().Pods("default").Delete(c.Context(), "refused", metav1.DeleteOptions{}))
	c.eventually(patience, func() error { return c.replaced(append(slices.Clone(drifted), empty...), used) })
	c.eventually(patience, c.accountedFor)
	for _, rule := range []struct {
		what     string
		machines []string
		before   time.Time
		most     int
	}{
		{"drifted machines while the schedule forbids it", drifted, opens, 0},
		{"drifted machines", drifted, time.Now(), 1},
		{"empty machines", empty, time.Now(), 2},
	} {
		n, which := departures.most(rule.before, rule.machines)
		t.Logf("%s: at most %d at a time", rule.what, n)
		if n != rule.most {
			t.Errorf("%s: at most %d were on their way out at a time, the budget is %d: %s", rule.what, n, rule.most, which)
		}
	}
}

// A machine whose own pods have gone is consolidated when consolidateAfter says,
// although a pod of a DaemonSet, and one of a Job that ends at once, come and go on it
// all the time.
func TestPodsThatComeAndGoDoNotKeepAMachineThatNobodyNeeds(t *testing.T) {
	t.Parallel()
	quiet, every := 20*time.Second, 4*time.Second
	if *long {
		quiet, every = 2*time.Minute, time.Minute
	}
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + disruptedPool("blue", fmt.Sprintf(`consolidateAfter: %.0fs, consolidationPolicy: WhenEmpty, budgets: [{nodes: "100%%"}]`, quiet.Seconds()), "") + "---" + ignoringJobs + "---" + agent)
	c.manifests(spread("web", 1))
	c.eventually(patience, c.running("app=web", 1))
	node := c.nodesOf("app=web")[0]
	c.eventually(patience, c.running("daemon=agent", 1))
	c.scale("web", 0)
	began, last, runs := time.Now(), time.Time{}, 0
	c.eventually(patience+promised(quiet), func() error {
		n, ok := c.nodes()[node]
		if !ok {
			return nil
		}
		// kube-scheduler gives a marked node no pods.
		if time.Since(last) >= every && !eviction.Marked(&n) {
			last = time.Now()
			runs++
			c.manifests(job(fmt.Sprint("run-", runs), node))
			for _, p := range c.pods("daemon=agent") {
				_ = c.client.CoreV1().Pods(p.Namespace).Delete(t.Context(), p.Name, metav1.DeleteOptions{}) // it may be gone
			}
		}
		return fmt.Errorf("node %s is still there %v after its last pod that counts, and %d runs", node, time.Since(began).Round(time.Second), runs)
	})
	took := time.Since(began)
	t.Logf("consolidateAfter is %v; the machine was gone after %v and %d runs", quiet, took.Round(time.Second), runs)
	if took < quiet {
		t.Errorf("the machine was gone after %v, consolidateAfter is %v", took, quiet)
	}
	if *long && took > quiet+time.Minute {
		t.Errorf("the machine was gone after %v only, consolidateAfter is %v", took, quiet)
	}
}

const ignoringJobs = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: jobs}
spec:
  nodePools: {names: [blue]}
  disruption: {ignoreJobs: true}
`

// job runs a pod on a node, past the scheduler, for a moment.
func job(name, node string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %[1]s, namespace: default}
spec:
  ttlSecondsAfterFinished: 1
  backoffLimit: 0
  template:
    metadata: {labels: {app: job}, annotations: {sandbox.millwright.dev/run-for: 200ms}}
    spec:
      nodeName: %[2]s
      restartPolicy: Never
      containers: [{name: main, image: example.com/job}]
`, name, node)
}

// A machine that has drifted holds a database that must not be disrupted, with its
// volume. With a terminationGracePeriod it is replaced all the same: the database
// keeps running until its own grace is all that is left of that time, then its volume
// is detached, and the machine is gone soon after the deadline.
func TestADatabaseThatMustNotBeDisruptedKeepsItsMachineUntilTheDeadline(t *testing.T) {
	t.Parallel()
	const period, grace = 60 * time.Second, 5 * time.Second
	c := newCluster(t)
	c.millwright()
	books := c.audit()
	c.manifests(class + "---" + nodePlugin("- {operator: Exists}") + "---" + disruptedPool("blue", `consolidateAfter: Never, budgets: [{nodes: "100%"}]`, "terminationGracePeriod: 60s"))
	c.manifests(undisturbed)
	c.eventually(patience, c.running("app=db", 1))
	before := c.pods("app=db")[0]
	node := before.Spec.NodeName

	c.drift("blue", "2")
	var deadline, ended time.Time
	c.eventually(patience, func() error {
		for _, claim := range c.claims() {
			if claim.GetName() == node && claim.GetDeletionTimestamp() != nil {
				deadline = claim.GetDeletionTimestamp().Add(period)
				return nil
			}
		}
		return fmt.Errorf("claim %s is not being deleted", node)
	})
	c.eventually(patience, func() error {
		pods := c.pods("app=db")
		if len(pods) == 1 && pods[0].UID == before.UID && pods[0].DeletionTimestamp == nil {
			return fmt.Errorf("the database is still on node %s, %v before the deadline", node, time.Until(deadline).Round(time.Second))
		}
		ended = time.Now()
		return nil
	})
	c.eventually(patience, func() error { return c.without(node) })
	gone := time.Now()
	c.eventually(patience, c.running("app=db", 1))
	c.eventually(patience, c.accountedFor)
	c.eventually(patience, c.pluginsAreWhereNodesAre)
	books.close()
	t.Logf("the database was told to end %v before the deadline, the machine gone %v after it", deadline.Sub(ended).Round(time.Second/10), gone.Sub(deadline).Round(time.Second/10))
	// Times of the API server are in whole seconds.
	if early := deadline.Sub(ended); early > grace+2*time.Second {
		t.Errorf("the database was told to end %v before the deadline, its grace is %v", early, grace)
	}
	if late := gone.Sub(deadline); late > promised(30*time.Second) {
		t.Errorf("the machine was gone %v after the deadline", late)
	}
}

// undisturbed is a database with a volume that must not be disrupted.
const undisturbed = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec:
  replicas: 1
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {karpenter.sh/do-not-disrupt: "true"}}
    spec:
      terminationGracePeriodSeconds: 5
      nodeSelector: {team: blue}
      containers:
      - {name: main, image: example.com/db, resources: {requests: {cpu: "1", memory: 1Gi}}, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`
