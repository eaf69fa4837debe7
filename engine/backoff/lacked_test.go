package backoff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/placement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const branch corev1.ResourceName = "vpc.amazonaws.com/pod-eni"

// lackingRig is a pool whose types are said to have branch interfaces, which a Node gets only if
// published. A machine that is not initialized after a minute is replaced.
type lackingRig struct {
	*rig
	published bool
	// only is the one type whose Nodes get them, if they are not published on all.
	only      string
	onTimeout snapshot.Consequence
	// withBranch are the launches of machines for pods that request some.
	withBranch []string
}

func newLackingRig(t *testing.T) *lackingRig {
	r := newRig(t, 0)
	for i, had := range r.pool.Types {
		with := *had
		with.Capacity = had.Capacity.DeepCopy()
		with.Capacity[branch] = resource.MustParse("2")
		r.pool.Types[i] = &with
	}
	return &lackingRig{rig: r, onTimeout: snapshot.Replace}
}

// want adds a pending pod of a workload.
func (r *lackingRig) want(workload string, requests corev1.ResourceList) {
	p := r.pod()
	p.OwnerReferences[0].Name = workload
	for name, q := range requests {
		p.Spec.Containers[0].Resources.Requests[name] = q
	}
	r.pending = append(r.pending, r.classes.Pod(p.Pod))
}

func (r *lackingRig) wantBranch(workload string) {
	r.want(workload, corev1.ResourceList{branch: resource.MustParse("1")})
}

// minute plays one: machines join and get ready or are given up, and plans are made.
func (r *lackingRig) minute() {
	for range 12 {
		for i, n := range r.nodes {
			r.nodes[i] = r.live(n)
		}
		r.recount()
		for _, n := range r.nodes {
			if n.Deleting() {
				for _, p := range n.Pods {
					r.want(p.OwnerReferences[0].Name, nil)
				}
			}
		}
		r.nodes = deleted(r.nodes)
		r.now = r.now.Add(5 * time.Second)
		s := r.snapshot()
		answer := placement.Solve(s, placement.Options{Cache: &r.stock})
		r.record(backoff.FindUnused(s, answer))
		r.bind(answer)
		before := len(r.nodes)
		r.launch(answer)
		for _, n := range r.nodes[before:] {
			if q := n.Claim.Requests[branch]; !q.IsZero() {
				r.withBranch = append(r.withBranch, r.now.Sub(noon).String())
			}
		}
	}
}

func deleted(nodes []*snapshot.Node) (left []*snapshot.Node) {
	for _, n := range nodes {
		if !n.Deleting() {
			left = append(left, n)
		}
	}
	return left
}

// live is a machine a moment later, as the kubelet and the controller of NodeClaims leave it.
func (r *lackingRig) live(n *snapshot.Node) *snapshot.Node {
	if n.Object == nil {
		if n = r.boot(n); n.Object == nil {
			return n
		}
		delete(n.Claim.Conditions, snapshot.Initialized)
		delete(n.Object.Labels, snapshot.InitializedLabel)
		n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if n.Object.Status.Allocatable = n.Claim.Allocatable.DeepCopy(); !r.published && (r.only == "" || n.Claim.Labels[corev1.LabelInstanceTypeStable] != r.only) {
			delete(n.Object.Status.Allocatable, branch)
		}
	}
	step := lifecycle.Decide(lifecycle.View{
		Now: r.now, Claim: n.Claim, Nodes: []*corev1.Node{n.Object},
		Policy: snapshot.Initialization{Timeout: time.Minute, OnTimeout: r.onTimeout},
	})
	claim := *n.Claim
	out := *n
	out.Claim, claim.Conditions = &claim, map[string]snapshot.Condition{}
	for name, c := range n.Claim.Conditions {
		claim.Conditions[name] = c
	}
	for key, value := range step.Annotations {
		metav1.SetMetaDataAnnotation(&metav1.ObjectMeta{Annotations: claim.Annotations}, key, value)
	}
	if step.Delete != "" {
		claim.Annotations[lifecycle.GivenUpAnnotation], claim.Deleted = string(step.Delete), r.now
	}
	if step.Node != nil {
		out.Object = n.Object.DeepCopy()
		step.Node.Apply(out.Object)
	}
	for _, c := range step.Conditions {
		if had := claim.Conditions[c.Type]; had.Status != c.Status {
			claim.Conditions[c.Type] = snapshot.Condition{Status: c.Status, Reason: c.Reason, Since: r.now}
		}
	}
	return &out
}

// says is what the pool says of its launches.
func (r *lackingRig) says() string {
	reason, _ := backoff.Worst(r.pool, r.now)
	return reason.Message()
}

// waits is why the first pod of a workload gets no machine.
func (r *lackingRig) waits(workload string) string {
	answer := placement.Solve(r.snapshot(), placement.Options{Cache: &r.stock})
	for _, u := range answer.Unplaced {
		if u.Pod.OwnerReferences[0].Name == workload {
			return u.Reasons[0].Message()
		}
	}
	return ""
}

func TestMachinesWithoutTheResourceThatTheyWereLaunchedForEndAlthoughOthersOfThePoolGetReady(t *testing.T) {
	r := newLackingRig(t)
	r.wantBranch("secured")
	for minute := range 30 {
		if minute%2 == 0 {
			r.want("web", nil) // needs a machine of its own, which gets ready
		}
		r.minute()
	}
	// Three, and trials after 2, 4, 8 minutes.
	if n := len(r.withBranch); n < 4 || n > 6 {
		t.Errorf("%d machines for the pod with a branch interface, at %v", n, r.withBranch)
	}
	if len(r.pending) != 1 {
		t.Errorf("%d pods wait, want only the one with a branch interface", len(r.pending))
	}
	for what, got := range map[string]string{"the pool": r.says(), "the pod": r.waits("secured")} {
		if !strings.Contains(got, string(branch)) || !strings.Contains(got, r.pool.Types[0].Name[:1]) || !strings.Contains(got, "before 2026-01-02T12:") {
			t.Errorf("%s says %s", what, got)
		}
	}

	// Every workload of the kind waits for the same thing, however many there are.
	before := len(r.withBranch)
	for range 5 {
		r.wantBranch("job")
		r.wantBranch("cron")
	}
	r.minute()
	if n := len(r.withBranch) - before; n > 1 {
		t.Errorf("%d more machines for ten further pods", n)
	}

	r.published = true
	for range 60 {
		r.minute()
	}
	if len(r.pending) > 0 || r.says() != "" {
		t.Errorf("after the plugin was mended %d pods wait, the pool says %q", len(r.pending), r.says())
	}
}

// Of the types that are said to have a resource some may not: a controller does not know them yet.
func TestATypeWhoseNodesLackAResourceGivesWayToOthers(t *testing.T) {
	eightCores := func(t *catalog.Type) bool { return t.Capacity.Cpu().Value() == 8 }
	for i := range 8 {
		r, last := newLackingRig(t), i%4
		if i >= 4 {
			r.onTimeout, r.pool.Policy.Initialization.Backoff.Failures = snapshot.Alert, 5 // those that are kept hold trials up
		}
		r.pool.Types = slices.DeleteFunc(r.pool.Types, func(t *catalog.Type) bool { return !eightCores(t) })[:4]
		r.only = r.pool.Types[last].Name
		for workload := range 3 { // the later ones go by what is known
			r.wantBranch(fmt.Sprint("secured-", workload))
			for minutes := 0; len(r.pending) > 0 && minutes < 20; minutes++ {
				r.minute()
			}
			r.minute()
		}
		if n := len(r.withBranch); len(r.pending) > 0 || n > 4+2 {
			t.Errorf("%d pods wait, after %d machines of 4 types, at %v", len(r.pending), n, r.withBranch)
		}
		if r.now = r.now.Add(3 * time.Hour); r.onTimeout != snapshot.Alert && len(backoff.Recover(r.pool, r.nodes, r.now)) > 0 {
			t.Errorf("three hours later it is still known: %+v", r.pool.Failures)
		}
	}
}

// Those that are kept are trials enough.
func TestNoFurtherMachineIsLaunchedWhileThreeAreKeptWithoutPods(t *testing.T) {
	testNoFurther(t, snapshot.Retain)
}

func TestNoFurtherMachineIsLaunchedWhileThreeAreOnlyToldOf(t *testing.T) {
	testNoFurther(t, snapshot.Alert)
}

func testNoFurther(t *testing.T, onTimeout snapshot.Consequence) {
	t.Helper()
	r := newLackingRig(t)
	r.onTimeout = onTimeout
	r.wantBranch("secured")
	r.want("web", nil)
	for range 60 {
		r.minute()
	}
	if slices.ContainsFunc(r.pool.Failures, func(f snapshot.Failure) bool { return f.Workload != "" }) {
		t.Errorf("machines that are kept count as not used as well: %+v", r.pool.Failures)
	}
	if n := len(r.withBranch); n != 3 || len(r.pending) != 1 {
		t.Errorf("%d machines for the pod with a branch interface, at %v; %d pods wait", n, r.withBranch, len(r.pending))
	}
	for what, got := range map[string]string{"the pool": r.says(), "the pod": r.waits("secured")} {
		if !strings.Contains(got, "the Nodes of 3 machines in a row did not get "+string(branch)) {
			t.Errorf("%s says %s", what, got)
		}
	}

	r.published = true
	for i, n := range r.nodes {
		if q := n.Claim.Requests[branch]; !q.IsZero() {
			whole := *n
			whole.Object = n.Object.DeepCopy()
			whole.Object.Status.Allocatable[branch] = resource.MustParse("2")
			r.nodes[i] = &whole
		}
	}
	r.minute()
	if len(r.pending) > 0 || r.says() != "" || len(r.withBranch) != 3 {
		t.Errorf("after the plugin was mended %d pods wait, the pool says %q, %d machines", len(r.pending), r.says(), len(r.withBranch))
	}
}

func TestAMachineThatIsKeptWithoutPodsFailedOnceAndNoLongerOnceItIsInitialized(t *testing.T) {
	c := &snapshot.Claim{Name: "a", Pool: "general", UID: "a", Annotations: map[string]string{
		backoff.TemplateAnnotation: template, snapshot.RetainedAnnotation: noon.Format(time.RFC3339),
	}}
	failures := backoff.Count(nil, []*snapshot.Claim{c}, template)
	failures = backoff.Count(failures, []*snapshot.Claim{c}, template)
	if len(failures) != 1 || failures[0].Count != 1 || !failures[0].Last.Equal(noon) || failures[0].Reason != string(lifecycle.InitializationTimedOut) {
		t.Fatalf("counted as %+v", failures)
	}
	c.Conditions = map[string]snapshot.Condition{snapshot.Initialized: {Status: corev1.ConditionTrue, Since: noon.Add(time.Minute)}}
	if left := backoff.Count(failures, []*snapshot.Claim{c}, template); len(left) != 0 {
		t.Errorf("left are %+v", left)
	}
}

func TestOneMachineAtATimeTriesWhetherAResourceIsThereByNow(t *testing.T) {
	r := newLackingRig(t)
	r.pool.Failures = []snapshot.Failure{{Template: template, Resource: branch, Count: 3, Last: noon.Add(-time.Hour), Machines: []string{"general-000: m5.large"}}}
	for range 6 {
		r.wantBranch("secured")
		r.want("web", nil)
	}
	r.minute()
	if n := len(r.withBranch); n != 1 {
		t.Errorf("%d machines are tried at once", n)
	}
	for _, p := range r.pending {
		if q := p.Class.Requests.Get(branch); q.IsZero() {
			t.Errorf("pod %s waits for a resource that it does not request", p.Name)
		}
	}
	const want = "the Nodes of 3 machines in a row did not get vpc.amazonaws.com/pod-eni (general-000: m5.large); for pods that request it one at a time is launched until one gets it"
	if got := r.says(); got != want {
		t.Errorf("the pool says %s", got)
	}
}

func TestWhatAResourceDidIsForgottenOnceItIsNotWantedForLong(t *testing.T) {
	p := &snapshot.Pool{Name: "web", Failures: []snapshot.Failure{{Template: template, Resource: branch, Count: 9, Last: noon}}}
	trial := []*snapshot.Node{{Claim: &snapshot.Claim{Pool: "web", Requests: corev1.ResourceList{branch: resource.MustParse("1")}}}}
	for after, test := range map[time.Duration]struct {
		nodes []*snapshot.Node
		left  int
	}{time.Hour: {nil, 1}, 3 * time.Hour: {nil, 0}, 4 * time.Hour: {trial, 1}} {
		if left := backoff.Recover(p, test.nodes, noon.Add(after)); len(left) != test.left {
			t.Errorf("after %v: %v", after, left)
		}
	}
}
