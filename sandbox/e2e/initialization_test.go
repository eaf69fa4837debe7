package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// start is one way for a machine to start, in a pool of its own with one pod.
type start struct {
	// annotations of the pool's template say what happens to its nodes; see
	// `sandbox inject --help`.
	annotations map[string]string
	// taint is a startup taint of the pool.
	taint string
	// class is the node class, default if empty: late has machines that join 8 s
	// later, never such that never join.
	class string
	// policy is the initialization section of a NodePolicy for the pool.
	policy string
	// gpu asks for machines with GPUs, volume for a volume, more adds manifests.
	gpu, volume bool
	more        string
	// do interferes while the machine starts.
	do func(*starting)
	// says are reasons that the claim must have had, in turn, with "!" if it was
	// overdue. Behind a comma stands what lets it go on: a setting of the sandbox for
	// the pool's nodes.
	says []string
	// replaced is why the machine is given up; empty if it gets ready for work.
	replaced string
	// stuck is true if it stays as it is.
	stuck bool
}

// starting is a start under way.
type starting struct {
	*cluster
	pool string
	log  *claimLog
	// settings are those that let its nodes go on.
	settings []string
}

const (
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule"
	cni           = "example.com/cni:NoExecute"
)

func sandboxed(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		key := "sandbox.millwright.dev/" + pairs[i]
		if strings.HasPrefix(pairs[i], "join") {
			key = "kwok.millwright.dev/" + pairs[i]
		}
		out[key] = pairs[i+1]
	}
	return out
}

// starts are by the name of their pool.
var starts = map[string]start{
	"plain": {},

	// Startup taints of the pool.
	"taint-goes":            {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-hang", "true"), says: []string{"StartupTaintsExist, agent-hang=false"}},
	"taint-goes-at-once":    {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-delay", "0s")},
	"taint-goes-first":      {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-delay", "50ms", "ready-delay", "1h"), says: []string{"NodeNotReady, ready-delay=0s"}},
	"taint-comes-back":      {taint: cni, annotations: sandboxed("agent-taint", cni, "retaint-after", "1s", "retaint-for", "10s", "ready-delay", "5s")},
	"taint-stays-replace":   {taint: cni, policy: "timeout: 25s, onTimeout: Replace", says: []string{"StartupTaintsExist"}, replaced: "initialization_timeout"},
	"taint-stays-alert":     {taint: cni, policy: "timeout: 10s, onTimeout: Alert", says: []string{"!StartupTaintsExist"}, do: (*starting).untaintWhenOverdue},
	"joins-bare":            {taint: cni, annotations: sandboxed("join", "bare", "agent-taint", cni, "agent-hang", "true", "agent-watches", "true"), says: []string{"StartupTaintsExist, agent-hang=false"}},
	"joins-untainted":       {taint: cni, annotations: sandboxed("join", "untainted", "agent-taint", cni, "agent-hang", "true", "agent-watches", "true"), says: []string{"StartupTaintsExist, agent-hang=false"}, do: (*starting).expectUntainted},
	"joins-unlabelled":      {annotations: sandboxed("join", "unlabelled")},
	"readiness-taint":       {annotations: sandboxed("join-taints", "readiness.k8s.io/net:NoSchedule", "agent-taint", "readiness.k8s.io/net:NoSchedule", "agent-hang", "true"), says: []string{"KnownEphemeralTaintsExist, agent-hang=false"}},
	"two-agents-in-turn":    {taint: cni, annotations: sandboxed("join-taints", uninitialized, "cloud-init-hang", "true", "agent-taint", cni, "agent-hang", "true"), says: []string{"StartupTaintsExist, agent-hang=false", "KnownEphemeralTaintsExist, cloud-init-hang=false"}},
	"cloud-before-the-rest": {taint: cni, annotations: sandboxed("join-taints", uninitialized, "cloud-init-delay", "0s", "agent-taint", cni, "agent-hang", "true"), says: []string{"StartupTaintsExist, agent-hang=false"}},

	// The cloud controller's taint.
	"cloud-at-once":      {annotations: sandboxed("join-taints", uninitialized, "cloud-init-delay", "0s")},
	"cloud-between":      {annotations: sandboxed("join-taints", uninitialized, "cloud-init-delay", "50ms")},
	"cloud-late":         {annotations: sandboxed("join-taints", uninitialized, "cloud-init-hang", "true"), says: []string{"KnownEphemeralTaintsExist, cloud-init-hang=false"}},
	"cloud-hangs-remove": {annotations: sandboxed("join-taints", uninitialized, "cloud-init-hang", "true"), policy: "staleUninitialized: {grace: 3s, action: Remove}", says: []string{"StaleUninitializedTaint"}},
	"cloud-hangs-replace": {annotations: sandboxed("join-taints", uninitialized, "cloud-init-hang", "true"), policy: "staleUninitialized: {grace: 20s, action: Replace}",
		says: []string{"KnownEphemeralTaintsExist"}, replaced: "stale_uninitialized_taint"},
	"cloud-hangs-report": {annotations: sandboxed("join-taints", uninitialized, "cloud-init-hang", "true"), policy: "staleUninitialized: {grace: 3s, action: Report}",
		says: []string{"!StaleUninitializedTaint"}, do: (*starting).untaintWhenOverdue},

	// The kubelet.
	"late":          {class: "late", says: []string{"NodeNotFound"}},
	"never-joins":   {class: "never", policy: "launchTimeout: 20s, registrationTimeout: 40s", says: []string{"NodeNotFound"}, replaced: "registration_timeout"},
	"never-ready":   {annotations: sandboxed("kubelet", "silent"), policy: "timeout: 12s, onTimeout: Replace", says: []string{"NodeNotReady"}, replaced: "initialization_timeout"},
	"ready-late":    {annotations: sandboxed("ready-delay", "1h"), says: []string{"NodeNotReady, ready-delay=0s"}},
	"reboots":       {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-hang", "true", "ready-delay", "8s"), says: []string{"StartupTaintsExist, reboot-after=1s", "NodeNotReady, agent-hang=false"}},
	"name-is-taken": {class: "late", do: (*starting).takeName},
	// Names and addresses that somebody else has or had.
	"twin-at-once": {annotations: sandboxed("ready-delay", "1h", "twin-after", "1ms", "twin-for", "1h"), says: []string{"MultipleNodesFound, twin-for=0s", "NodeNotReady, ready-delay=0s"}},
	"twin-later":   {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-hang", "true", "twin-after", "5s", "twin-for", "1h"), says: []string{"MultipleNodesFound, twin-for=0s", "StartupTaintsExist, agent-hang=false"}},
	"twin-stays": {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-hang", "true", "twin-for", "1h"), policy: "timeout: 40s, onTimeout: Replace",
		says: []string{"StartupTaintsExist, twin-after=1ms", "MultipleNodesFound"}, replaced: "initialization_timeout"},
	"name-is-reused":      {annotations: sandboxed("node-ip", "10.1.200.1"), do: (*starting).reuseName},
	"ip-is-shared":        {annotations: sandboxed("node-ip", "10.1.200.1")},
	"kubelet-never-comes": {policy: "launchTimeout: 20s, registrationTimeout: 40s", says: []string{"NodeNotFound"}, replaced: "registration_timeout"},
	"node-removed":        {taint: cni, annotations: sandboxed("agent-taint", cni, "agent-hang", "true"), do: (*starting).removeNode, says: []string{"StartupTaintsExist, agent-hang=false"}},

	// Devices, storage, agents, conditions.
	"gpu-late":     {gpu: true, annotations: sandboxed("device-plugin-hang", "true"), says: []string{"ResourceNotRegistered, device-plugin-hang=false"}},
	"gpu-never":    {gpu: true, annotations: sandboxed("device-plugin-hang", "true"), policy: "timeout: 40s, onTimeout: Replace", says: []string{"ResourceNotRegistered"}, replaced: "initialization_timeout"},
	"csi-late":     {volume: true, annotations: sandboxed("csi-register-delay", "1h"), says: []string{"CSIDriverNotRegistered, csi-register-delay=0s"}},
	"csi-policy":   {annotations: sandboxed("csi-register-delay", "1h"), policy: "csiDrivers: [ebs.csi.aws.com]", says: []string{"CSIDriverNotRegistered, csi-register-delay=0s"}},
	"csi-never":    {annotations: sandboxed("csi-register-delay", "1h"), policy: "csiDrivers: [ebs.csi.aws.com], timeout: 40s, onTimeout: Replace", says: []string{"CSIDriverNotRegistered"}, replaced: "initialization_timeout"},
	"daemon-late":  {more: daemonSet("daemon-late", "15s"), policy: "readyDaemonSets: [{namespace: default, name: daemon-late}]"},
	"daemon-never": {more: daemonSet("daemon-never", "1h"), policy: "readyDaemonSets: [{selector: {matchLabels: {app: daemon-never}}}], timeout: 10s, onTimeout: Retain", says: []string{"!DaemonSetNotReady"}, stuck: true, do: (*starting).expectRetained},
	"condition-late": {annotations: sandboxed("node-condition", "NetworkingReady=True", "node-condition-delay", "1h"), policy: "nodeConditions: [{type: NetworkingReady}]",
		says: []string{"NodeConditionNotMet, node-condition-delay=0s"}},
	"kept-off": {annotations: sandboxed("node-condition", "NetworkingReady=True", "node-condition-delay", "1h"), policy: "nodeConditions: [{type: NetworkingReady}], untilInitialized: Taint, onTimeout: Replace",
		do: (*starting).expectKeptOff, says: []string{"NodeConditionNotMet, node-condition-delay=0s"}},
	"condition-false": {annotations: sandboxed("node-condition", "NetworkingReady=False"), policy: "nodeConditions: [{type: NetworkingReady}], timeout: 40s, onTimeout: Replace",
		says: []string{"NodeConditionNotMet"}, replaced: "initialization_timeout"},
}

// Every machine of the table gets ready for work or is replaced, for the right
// reason, whatever its kubelet, its agents, the cloud controller and others do, and
// although the controller is killed in between. While a machine is not ready its
// claim says why. Some dozens of clocks tick here at once, so it runs alone.
func TestEveryMachineGetsReadyOrIsReplacedForTheRightReason(t *testing.T) {
	c := newCluster(t)
	c.manifests(slowBoot + "---" + class + "---" + lateClass("late", "20s") + "---" + lateClass("never", "1h"))
	controller := c.millwright()
	log := c.watchClaims()
	for name, s := range starts {
		c.manifests(s.manifests(name))
	}
	// The controller is killed while it launches, before any machine is up. The next
	// one goes on when the lease has run out.
	c.eventually(patience, func() error {
		if n := len(c.machines()); n < len(starts)/2 {
			return fmt.Errorf("%d machines of %d", n, len(starts))
		}
		return nil
	})
	controller.Kill()
	c.millwright()
	stop := make(chan struct{})
	honest := make(chan error, 1)
	go func() { honest <- c.honest(stop) }()
	// All at once: they wait, and do not compute.
	var all sync.WaitGroup
	for name, s := range starts {
		all.Go(func() {
			t.Run(name, func(t *testing.T) {
				one := *c
				one.T = t
				s.play(&starting{cluster: &one, pool: name, log: log})
			})
		})
	}
	all.Wait()
	close(stop)
	c.must(<-honest)
}

// pool is the pool of that name.
func (s start) pool(name string) string {
	text := pool(name, "amd64")
	if s.gpu {
		text = strings.Replace(text, "[c, m, r]", "[g]", 1)
	}
	if s.class != "" {
		text = strings.Replace(text, "name: default", "name: "+s.class, 1)
	}
	var notes []string
	for k, v := range s.annotations {
		notes = append(notes, fmt.Sprintf("%s: %q", k, v))
	}
	slices.Sort(notes)
	text = strings.Replace(text, "metadata: {labels: {team:", "metadata: {annotations: {"+strings.Join(notes, ", ")+"}, labels: {team:", 1)
	if s.taint != "" {
		key, effect, _ := strings.Cut(s.taint, ":")
		text = strings.Replace(text, "    spec:\n", fmt.Sprintf("    spec:\n      startupTaints: [{key: %s, effect: %s}]\n", key, effect), 1)
	}
	return text
}

// manifests are those of the pool, its policy and its pod.
func (s start) manifests(name string) string {
	text := s.pool(name)
	if s.policy != "" {
		text += "---" + nodePolicy(name, "initialization", s.policy)
	}
	if s.more != "" {
		text += "---" + s.more
	}
	web := deployment(name, name, 1, "1", "1Gi")
	if s.gpu {
		web = strings.Replace(web, `requests: {cpu:`, `limits: {nvidia.com/gpu: 1}, requests: {cpu:`, 1)
	}
	if s.volume {
		web = strings.Replace(web, "      containers:\n", "      volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]\n      containers:\n", 1)
	}
	return text + "---" + web
}

// nodePolicy is a pool's policy with one section, given in YAML's flow style.
func nodePolicy(pool, section, text string) string {
	return fmt.Sprintf(`
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: %[1]s}
spec:
  nodePools: {names: [%[1]s]}
  %[2]s: {%[3]s}
`, pool, section, text)
}

// reusedName is the name under which every machine of one pool joins.
const reusedName = "ip-10-1-200-1"

// slowBoot makes machines take longer than the controller's lease, and plays what no
// annotation does.
const slowBoot = `
apiVersion: v1
kind: ConfigMap
metadata: {name: millwright-kwok, namespace: kube-system}
data: {bootDelay: 20s, neverJoin: kubelet-never-comes-*, joinAs: name-is-reused-*=` + reusedName + `}
`

func lateClass(name, delay string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: %s}
spec: {nodeRegistrationDelay: %s}
`, name, delay)
}

func daemonSet(name, startDelay string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %[1]s, namespace: default, labels: {app: %[1]s}}
spec:
  selector: {matchLabels: {app: agent-%[1]s}}
  template:
    metadata: {labels: {app: agent-%[1]s}, annotations: {sandbox.millwright.dev/start-delay: %[2]s}}
    spec:
      nodeSelector: {team: %[1]s}
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: example.com/agent, resources: {requests: {cpu: 100m}}}]
`, name, startDelay)
}

// play waits until the pool's machine ends as it should.
func (s start) play(x *starting) {
	x.Cleanup(func() {
		if x.Failed() {
			x.Logf("the story of %s:\n%s", x.pool, x.log.tell(x.pool))
		}
	})
	if s.do != nil {
		s.do(x)
	}
	for _, step := range s.says {
		reason, setting, _ := strings.Cut(step, ", ")
		x.eventually(patience, func() error {
			x.set()
			if !x.log.said(x.pool, reason) {
				return fmt.Errorf("no claim of %s has ever said %s", x.pool, reason)
			}
			return nil
		})
		if setting != "" {
			x.settings = append(x.settings, setting)
		}
	}
	x.eventually(patience, func() error {
		x.set()
		return s.ended(x)
	})
	x.scale(x.pool, 0)
}

// set applies what lets the pool's nodes go on, to those that are there.
func (x *starting) set() {
	if len(x.settings) == 0 {
		return
	}
	for _, n := range x.nodes() {
		if n.Labels["karpenter.sh/nodepool"] != x.pool {
			continue
		}
		for _, setting := range x.settings {
			knob, value, _ := strings.Cut(setting, "=")
			if key := "sandbox.millwright.dev/" + knob; n.Annotations[key] != value {
				x.patchNode(n.Name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
			}
		}
	}
}

// ended finds fault unless the machine has ended as it should.
func (s start) ended(x *starting) error {
	stories := x.log.of(x.pool)
	switch {
	case s.stuck:
		return nil
	case s.replaced == "" && !slices.ContainsFunc(stories, func(c claimStory) bool { return c.ready && !c.gone }):
		return fmt.Errorf("no machine of %s is ready for work", x.pool)
	case s.replaced == "":
		return x.running("app="+x.pool, 1)()
	case !slices.ContainsFunc(stories, func(c claimStory) bool { return c.givenUp == s.replaced }):
		return fmt.Errorf("no claim of %s was given up for %s", x.pool, s.replaced)
	case len(stories) < 2:
		return fmt.Errorf("the machine of %s was not replaced", x.pool)
	}
	return nil
}

// node is the pool's first Node, once it is there.
func (x *starting) node() corev1.Node {
	x.Helper()
	var found corev1.Node
	x.eventually(patience, func() error {
		for _, n := range x.nodes() {
			if n.Labels["karpenter.sh/nodepool"] == x.pool && n.Labels["karpenter.sh/registered"] == "true" {
				found = n
				return nil
			}
		}
		return fmt.Errorf("pool %s has no registered node", x.pool)
	})
	return found
}

// untaintWhenOverdue proves with `millwright verify` that the machine is stuck,
// then takes its taints off and proves that it is not.
func (x *starting) untaintWhenOverdue() {
	node := x.node()
	taint := map[string]string{"taint-stays-alert": cni, "cloud-hangs-report": uninitialized}[x.pool]
	x.eventually(patience, func() error {
		if !x.log.said(x.pool, "!StartupTaintsExist") && !x.log.said(x.pool, "!StaleUninitializedTaint") {
			return fmt.Errorf("%s is not overdue", x.pool)
		}
		return nil
	})
	out, code := x.command("verify", "pool", x.pool, "--timeout", "2s")
	if code != 1 || !strings.Contains(out, taint) || !strings.Contains(out, "node/"+node.Name+" is not initialized") || !strings.Contains(out, "since 2") {
		x.Errorf("verify: exit status %d\n%s", code, out)
	}
	x.Logf("verify: exit status %d\n%s", code, out)
	out, code = x.command("why", "node", node.Name)
	if code != 0 || !strings.HasPrefix(out, "node/"+node.Name+" is not ready: ") || !strings.Contains(out, "kubectl taint node "+node.Name) {
		x.Errorf("why: exit status %d\n%s", code, out)
	}
	x.patchNode(node.Name, `{"spec":{"taints":null}}`)
	if out, code := x.command("verify", "node", node.Name, "--timeout", "30s"); code != 0 {
		x.Errorf("verify: exit status %d\n%s", code, out)
	}
}

func (x *starting) patchNode(name, patch string) {
	x.Helper()
	_, err := x.client.CoreV1().Nodes().Patch(x.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		x.must(err)
	}
}

func (x *starting) expectUntainted() {
	x.eventually(patience, func() error { return x.eventSays("UnregisteredTaintMissing", x.pool) })
}

// expectRetained finds the taint that keeps pods away from a machine that is kept.
func (x *starting) expectRetained() {
	node := x.node()
	x.eventually(patience, func() error {
		n := x.nodes()[node.Name]
		if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "millwright.dev/not-initialized" }) {
			return fmt.Errorf("node %s has the taints %v", n.Name, n.Spec.Taints)
		}
		return x.eventSays("DaemonSetNotReady", x.pool)
	})
}

// expectKeptOff finds the pool's pod without a node while its Node waits for nothing but a condition.
func (x *starting) expectKeptOff() {
	x.eventually(patience, func() error {
		if !x.log.said(x.pool, "NodeConditionNotMet") {
			return fmt.Errorf("%s does not wait for the condition", x.pool)
		}
		return nil
	})
	x.throughout(3*time.Second, func() error {
		for _, p := range x.pods("app=" + x.pool) {
			if p.Spec.NodeName != "" {
				return fmt.Errorf("pod %s is on %s", p.Name, p.Spec.NodeName)
			}
		}
		return nil
	})
}

// takeName gives the machine's name to another Node for a while.
func (x *starting) takeName() {
	var name string
	x.eventually(patience, func() error {
		stories := x.log.of(x.pool)
		if len(stories) == 0 {
			return fmt.Errorf("no claim of %s", x.pool)
		}
		name = stories[0].name
		return nil
	})
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "other://" + name}}
	if _, err := x.client.CoreV1().Nodes().Create(x.Context(), other, metav1.CreateOptions{}); err != nil {
		x.Skipf("the machine was faster: %v", err)
	}
	x.eventually(patience, func() error {
		if !x.log.said(x.pool, "NodeNotFound") {
			return fmt.Errorf("%s does not wait for its node", x.pool)
		}
		return nil
	})
	x.throughout(6*time.Second, func() error {
		if x.nodes()[name].Labels["karpenter.sh/registered"] != "" {
			return fmt.Errorf("the other machine's node %s was taken over", name)
		}
		return nil
	})
	x.must(x.client.CoreV1().Nodes().Delete(x.Context(), name, metav1.DeleteOptions{}))
}

// reuseName deletes the machine when it works: the next one joins under its name and
// address.
func (x *starting) reuseName() {
	ready := func() (corev1.Node, error) {
		n := x.nodes()[reusedName]
		if n.Labels["karpenter.sh/initialized"] != "true" {
			return n, fmt.Errorf("node %s is not ready: %v", reusedName, n.Labels)
		}
		return n, nil
	}
	var first corev1.Node
	x.eventually(patience, func() (err error) { first, err = ready(); return err })
	x.must(x.dynamic.Resource(nodeClaims).Delete(x.Context(), x.log.of(x.pool)[0].name, metav1.DeleteOptions{}))
	x.eventually(patience, func() error {
		second, err := ready()
		if err == nil && second.Spec.ProviderID == first.Spec.ProviderID {
			err = fmt.Errorf("node %s is still that of the first machine", reusedName)
		}
		return err
	})
	if stories := x.log.of(x.pool); !stories[0].gone || stories[0].givenUp != "" || len(stories) != 2 {
		x.Errorf("the claims are %v", stories)
	}
}

// removeNode takes a registered Node away past its finalizer: its machine is given
// up and another one started.
func (x *starting) removeNode() {
	node := x.node()
	x.patchNode(node.Name, `{"metadata":{"finalizers":null}}`)
	x.must(x.client.CoreV1().Nodes().Delete(x.Context(), node.Name, metav1.DeleteOptions{}))
	x.eventually(patience, func() error {
		if stories := x.log.of(x.pool); len(stories) < 2 || !stories[0].gone {
			return fmt.Errorf("the machine of %s was not replaced", x.pool)
		}
		return nil
	})
}
