package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// storm is how many spot machines there are, how many of them are interrupted, and
// for how long they live on.
type storm struct {
	nodes, hit int
	notice     time.Duration
	// boot is from the launch of a machine to its Node, span that over which the
	// interruptions come.
	boot, span time.Duration
}

const (
	podsEach    = 3
	stormBursts = 5               // in which the interruptions come
	stormGrace  = 5 * time.Second // that the pods have
)

// Half of the spot machines are interrupted within ten seconds, with two minutes'
// notice. A plain drain (every machine is cordoned, and its pods evicted as budgets
// allow) is shown beside what Millwright does without a policy and with one.
func TestAStormOfInterruptionsFindsMorePodsRunningThanAPlainDrain(t *testing.T) {
	if !*long {
		t.Skip("takes many minutes; go test ./e2e -run AStorm -long -timeout 40m")
	}
	s := storm{nodes: 120, hit: 60, notice: 2 * time.Minute, boot: 40 * time.Second, span: 10 * time.Second}
	shares := map[string]float64{}
	for _, how := range []string{"plain drain", "no policy", "policy"} {
		t.Run(how, func(t *testing.T) { shares[how] = s.run(t, how) })
	}
	if shares["policy"] < shares["plain drain"] || shares["no policy"] < shares["plain drain"] {
		t.Errorf("shares of pods that ran again before their machine died: %v", shares)
	}
}

// The same with six of twelve machines.
func TestASmallStormMovesEveryPodBeforeItsMachineDies(t *testing.T) {
	t.Parallel()
	s := storm{nodes: 12, hit: 6, notice: patience, boot: 2 * time.Second, span: time.Second}
	if share := s.run(t, "policy"); share < 1 {
		t.Errorf("%.0f %% of the pods ran again before their machine would have died", 100*share)
	}
}

const stormPolicy = `
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: storm}
spec:
  nodePools: {names: [storm]}
  interruption: {rules: [{events: [SpotInterruption], %s}]}
`

// run lets the storm come, and returns the share of pods that ran again on another
// machine before theirs died.
func (s storm) run(t *testing.T, how string) float64 {
	c := newCluster(t)
	c.millwright()
	c.settings(map[string]string{"bootDelay": "1s", "registrationDelay": "1s"})
	c.manifests(class + "---" + strings.Replace(disruptedPool("storm", "consolidateAfter: Never", "",
		`{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}`), "values: [on-demand]", "values: [spot]", 1))
	switch how {
	case "plain drain":
		c.manifests(fmt.Sprintf(stormPolicy, "action: Ignore"))
	case "policy":
		c.manifests(fmt.Sprintf(stormPolicy, "action: Replace, atDeadline: Force"))
	}
	pods := s.nodes * podsEach
	c.manifests(s.workload(pods))
	c.eventually(patience, c.running("app=storm", pods))
	var demanded int
	c.eventually(patience, func() (err error) {
		demanded, err = c.guarded(pods)
		return err
	})
	machines := len(c.claims())
	if machines < s.nodes { // more, if the pods have come in more than one batch
		t.Fatalf("%d machines, want %d", machines, s.nodes)
	}

	log := c.watchStorm()
	died, taken := s.strike(c, how)
	s.settle(c, log, died)
	share, report := log.result(died)
	t.Logf("%s: %d of %d machines interrupted: %s", how, s.hit, machines, report)

	first := time.Now().Add(patience)
	for _, at := range died {
		if at.Before(first) {
			first = at
		}
	}
	if least := log.leastBefore(first.Add(-stormGrace)); least < demanded {
		t.Errorf("%s: only %d of %d pods were healthy before the first deadline; the budget demands %d", how, least, pods, demanded)
	}
	for _, claim := range c.claims() {
		if _, old := died[claim.GetName()]; !old && claim.GetCreationTimestamp().After(log.began) && taken[offering(claim.GetLabels())] {
			t.Errorf("%s: %s is of an offering that is being reclaimed: %s", how, claim.GetName(), offering(claim.GetLabels()))
		}
	}
	return share
}

// workload has pods of which each has a name that its successor gets as well; a
// fifth of them may be missing.
func (s storm) workload(pods int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: storm}
spec:
  replicas: %d
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: storm}}
  template:
    metadata: {labels: {app: storm}, annotations: {sandbox.millwright.dev/start-delay: 3s}}
    spec:
      terminationGracePeriodSeconds: %d
      nodeSelector: {team: storm}
      containers: [{name: main, image: example.com/main, resources: {requests: {cpu: 600m, memory: 256Mi}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: storm}
spec: {maxUnavailable: "20%%", selector: {matchLabels: {app: storm}}}
`, pods, int(stormGrace.Seconds()))
}

// strike interrupts machines in bursts, and returns when each of them dies and which
// offerings they are of.
func (s storm) strike(c *cluster, how string) (died map[string]time.Time, taken map[string]bool) {
	c.Helper()
	claims := c.claims()
	slices.SortFunc(claims, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	died, taken = map[string]time.Time{}, map[string]bool{}
	var events []map[string]any
	knobs := map[string]string{"bootDelay": "1s", "registrationDelay": s.boot.String()}
	for burst := range stormBursts {
		for _, hit := range claims[burst*s.hit/stormBursts : (burst+1)*s.hit/stormBursts] {
			at := time.Now().Add(s.notice).Truncate(time.Second)
			died[hit.GetName()], taken[offering(hit.GetLabels())] = at, true
			events = append(events, map[string]any{"id": hit.GetName(), "kind": "SpotInterruption", "machine": hit.GetName(), "notBefore": at.UTC().Format(time.RFC3339)})
			if how == "plain drain" {
				go c.plainDrain(hit.GetName())
			}
		}
		text, err := json.Marshal(events)
		c.must(err)
		knobs["interruptions"] = string(text)
		c.settings(knobs)
		time.Sleep(s.span / stormBursts) // the storm's own pace
	}
	return died, taken
}

// settle waits until every pod runs again, or the last machine has died.
func (s storm) settle(c *cluster, log *stormLog, died map[string]time.Time) {
	var last time.Time
	for _, at := range died {
		if at.After(last) {
			last = at
		}
	}
	for time.Now().Before(last.Add(time.Second)) && !log.all(died) {
		time.Sleep(time.Second / 10)
	}
}

// plainDrain cordons a machine's Node and evicts its pods, again and again until none
// is left, as kubectl drain does.
func (c *cluster) plainDrain(node string) {
	if _, err := c.client.CoreV1().Nodes().Patch(c.Context(), node, types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`), metav1.PatchOptions{}); err != nil {
		c.Error(err)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for left := true; left; {
		select {
		case <-c.Context().Done():
			return
		case <-tick.C:
		}
		list, err := c.client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			return // the test is over
		}
		left = len(list.Items) > 0
		for _, p := range list.Items {
			err := c.client.PolicyV1().Evictions(p.Namespace).Evict(c.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}})
			// A budget that refuses is asked again in the next round.
			if err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) && c.Context().Err() == nil {
				c.Errorf("evicting %s: %v", p.Name, err)
			}
		}
	}
}

func offering(labels map[string]string) string {
	return labels[corev1.LabelInstanceTypeStable] + "/" + labels[corev1.LabelTopologyZone] + "/" + labels["karpenter.sh/capacity-type"]
}

// settings sets the knobs of the simulated cloud, and no others.
func (c *cluster) settings(knobs map[string]string) {
	c.Helper()
	text, err := json.Marshal(knobs)
	c.must(err)
	c.manifests("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: millwright-kwok, namespace: kube-system}\ndata: " + string(text) + "\n")
}

// guarded finds fault until the budget knows of every pod, and returns how many of
// them it demands to be healthy.
func (c *cluster) guarded(pods int) (int, error) {
	pdb, err := c.client.PolicyV1().PodDisruptionBudgets("default").Get(c.Context(), "storm", metav1.GetOptions{})
	c.must(err)
	if int(pdb.Status.CurrentHealthy) != pods {
		return 0, fmt.Errorf("the budget knows of %d of %d pods", pdb.Status.CurrentHealthy, pods)
	}
	return int(pdb.Status.DesiredHealthy), nil
}

// stormLog is what has become of the pods, by name.
type stormLog struct {
	mu    sync.Mutex
	began time.Time
	// at is where a pod is, home where it was when the storm came.
	at, home map[string]string
	// healthy is whether it is ready and not on its way out, lost since when it is not,
	// and again when it was for the first time on another machine than home.
	healthy map[string]bool
	lost    map[string]time.Time
	again   map[string]time.Time
	missing time.Duration // of all pods together
	least   []level
}

// level is how many pods were healthy from a time on.
type level struct {
	since   time.Time
	healthy int
}

func (c *cluster) watchStorm() *stormLog {
	c.Helper()
	l := &stormLog{began: time.Now(), at: map[string]string{}, home: map[string]string{}, healthy: map[string]bool{}, lost: map[string]time.Time{}, again: map[string]time.Time{}}
	factory := informers.NewSharedInformerFactoryWithOptions(c.client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=storm" }))
	c.follow(factory.Core().V1().Pods().Informer(), func(o any) {
		if p, ok := o.(*corev1.Pod); ok {
			l.see(p)
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.least = nil // what came before every pod was listed
	return l
}

func (l *stormLog) see(p *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, node := time.Now(), p.Spec.NodeName
	l.at[p.Name] = node
	if l.home[p.Name] == "" {
		l.home[p.Name] = node
	}
	ready := harness.Running(p)
	switch {
	case ready && !l.healthy[p.Name]:
		if since, was := l.lost[p.Name]; was {
			l.missing += now.Sub(since)
		}
		if node != l.home[p.Name] && l.again[p.Name].IsZero() {
			l.again[p.Name] = now
		}
	case !ready && l.healthy[p.Name]:
		l.lost[p.Name] = now
	}
	l.healthy[p.Name] = ready
	n := 0
	for _, ok := range l.healthy {
		if ok {
			n++
		}
	}
	l.least = append(l.least, level{now, n})
}

// all reports whether every pod of a machine that dies runs again elsewhere.
func (l *stormLog) all(died map[string]time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for pod, home := range l.home {
		if _, hit := died[home]; hit && l.again[pod].IsZero() {
			return false
		}
	}
	return true
}

// result is the share of pods that ran again before their machine died.
func (l *stormLog) result(died map[string]time.Time) (float64, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hit, left, saved := 0, 0, 0
	for pod, home := range l.home {
		at, dies := died[home]
		if !dies {
			continue
		}
		hit++
		if again := l.again[pod]; !again.IsZero() && again.Before(at) {
			saved++
		} else if since := l.lost[pod]; !l.healthy[pod] && !since.IsZero() {
			l.missing += time.Since(since)
		}
		if !l.lost[pod].IsZero() {
			left++
		}
	}
	share := float64(saved) / float64(hit)
	return share, fmt.Sprintf("%d of %d pods left, %d (%.1f %%) ran again before their machine died; each was missing for %.1f s on average",
		left, hit, saved, 100*share, l.missing.Seconds()/float64(hit))
}

// leastBefore is the lowest number of healthy pods before a time.
func (l *stormLog) leastBefore(end time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := len(l.healthy)
	for _, at := range l.least {
		if at.since.Before(end) {
			least = min(least, at.healthy)
		}
	}
	return least
}
