package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Random clusters of hundreds of pods under rules of every kind: every machine of the
// first plan is launched, kube-scheduler binds every pod, and few machines are launched
// besides. It can be told of a plan only in part where pods have a required spread over
// zones, because it counts the pods that are nominated to a node: of those that are alike
// any may have the room of any other, but where several such Deployments share machines,
// the pod that is tried first has the room that was meant for another. And how it decides
// depends on how fast it hears of nominations. So the bounds are loose, the more so beside
// other clusters; in engine/nomination the same is held to the machine, in virtual time.
// With -long there are twenty clusters, of up to a thousand pods.
func TestKubeSchedulerBindsEveryPodOfRandomClusters(t *testing.T) {
	t.Parallel()
	worlds, most := 3, 600
	if *long {
		worlds, most = 20, 1000
	}
	random := random(t)
	for i := range worlds {
		w := newWorld(random, most)
		t.Run(fmt.Sprintf("%02d of %d pods", i+1, w.pods), func(t *testing.T) { newCluster(t).live(w) })
	}
}

// Where new Nodes take first the pods that they were launched for, exactly the machines of
// the plan are launched, and every Node is open to all pods in the end. A pod that does not
// tolerate the taint of its Node yet may find room that is left on one that is open already.
func TestNodesThatTakePlannedPodsFirstNeedNoSecondLaunch(t *testing.T) {
	t.Parallel()
	worlds, most := 2, 600
	if *long {
		worlds, most = 20, 1000
	}
	random := random(t)
	for i := range worlds {
		w := newWorld(random, most)
		w.documents = append(w.documents, plannedFirst)
		t.Run(fmt.Sprintf("%02d of %d pods", i+1, w.pods), func(t *testing.T) {
			c := newCluster(t)
			c.manifests(c.admissionPolicy("rbac.plannedPods=true"))
			want := c.live(w)
			if n := c.admitted(); n*100 < want.pods*99 {
				c.Errorf("%d of %d pods tolerate the taint of a Node that was launched for them", n, want.pods)
			}
			if got := c.launched(); !maps.Equal(got, want.kinds) {
				c.Errorf("machines launched: %v, planned: %v", got, want.kinds)
			}
		})
	}
}

// live lets a world come about, plans it and compares. The plan is of the pods that there are:
// of others with the same rules it may be another, as names break ties.
func (c *cluster) live(w *world) planned {
	pods, claims := c.watchPods(), c.watchClaims()
	defer func() {
		if c.Failed() {
			c.Logf("%s\nnodes by their taints: %v", pods.summary(), c.taints())
		}
	}()
	c.manifests(w.manifests())
	c.eventually(2*time.Minute, func() error { return pods.waiting(w.pods) })
	dump, status := c.command("dump")
	if status != 0 {
		c.Fatal(dump)
	}
	want := c.plan(dump)
	start := time.Now()
	controller := c.millwright()
	c.eventually(5*time.Minute, func() error { return pods.settled(want.pods) })
	load, err := os.ReadFile("/proc/loadavg")
	c.must(err)
	c.Logf("%d machines planned and %d launched for %d pods, all bound after %v; %s; load %s",
		want.machines, claims.count(), want.pods, time.Since(start).Round(time.Second), pods.counts(), strings.TrimSpace(string(load)))
	c.eventually(time.Minute, func() error {
		if kept := c.taints()["millwright.dev/planned-pods"]; kept > 0 {
			return fmt.Errorf("%d Nodes take only the pods that they were launched for", kept)
		}
		return nil
	})
	c.must(controller.Stop())
	for _, pool := range []string{"blue", "green", "red"} {
		n, planned := len(claims.of(pool)), want.pools[pool]
		most := 2 + 2*planned
		if *long && w.zoned[pool] < 2 {
			most = planned + 2 + planned/3
		}
		if n > most {
			c.Errorf("pool %s with %d Deployments that are spread over zones: %d machines planned, %d launched", pool, w.zoned[pool], planned, n)
		}
	}
	got := c.launched()
	for kind, n := range want.kinds {
		if got[kind] < n {
			c.Errorf("%d machines of %s, planned %d", got[kind], kind, n)
		}
	}
	return want
}

// admitted counts the pods that were admitted to a Node that took them first.
func (c *cluster) admitted() (n int) {
	c.Helper()
	pods, err := c.client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{LabelSelector: "app"})
	c.must(err)
	for _, p := range pods.Items {
		if slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == "millwright.dev/planned-pods" }) {
			n++
		}
	}
	return n
}

// planned is what `millwright plan` says: how many machines, of what, for how many
// pods.
type planned struct {
	machines, pods int
	// kinds and pools count machines by pool, type and zone, and by pool.
	kinds, pools map[string]int
}

// plan asks the command line about manifests.
func (c *cluster) plan(manifests string) planned {
	c.Helper()
	file := filepath.Join(c.dir, "manifests.yaml")
	c.must(os.WriteFile(file, []byte(manifests), 0o600))
	document, err := exec.CommandContext(c.Context(), binary("MILLWRIGHT_BIN", "millwright"), "plan", "--instance-types", "ec2", "-o", "json", "-f", file).Output()
	if err != nil {
		c.Fatalf("planning: %v\n%s", err, document)
	}
	var answer struct {
		NewNodes []struct {
			Pool, InstanceType, Zone string
			Pods                     []string
		}
	}
	c.must(json.Unmarshal(document, &answer))
	out := planned{machines: len(answer.NewNodes), kinds: map[string]int{}, pools: map[string]int{}}
	for _, n := range answer.NewNodes {
		out.pods += len(n.Pods)
		out.pools[n.Pool]++
		out.kinds[n.Pool+"/"+n.InstanceType+"/"+n.Zone]++
	}
	if out.pods == 0 {
		c.Fatalf("the plan places no pods: %s", document)
	}
	return out
}

// launched are the machines that there are, by kind.
func (c *cluster) launched() map[string]int {
	c.Helper()
	out := map[string]int{}
	for _, n := range c.nodes() {
		out[n.Labels["karpenter.sh/nodepool"]+"/"+n.Labels[corev1.LabelInstanceTypeStable]+"/"+n.Labels[corev1.LabelTopologyZone]]++
	}
	return out
}

// count is how many claims there ever were.
func (l *claimLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.claims)
}

// taints counts the nodes by the keys of their taints.
func (c *cluster) taints() map[string]int {
	c.Helper()
	out := map[string]int{}
	for _, n := range c.nodes() {
		for _, t := range n.Spec.Taints {
			out[t.Key]++
		}
	}
	return out
}
