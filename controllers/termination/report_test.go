package termination_test

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/termination"
	"github.com/millwright-dev/millwright/engine/drain"
	engine "github.com/millwright-dev/millwright/engine/lifecycle"
)

// As where an instance is protected from termination.
func TestACloudThatDoesNotEndAMachineIsToldOf(t *testing.T) {
	const words = "the cloud does not terminate the instance: its attribute disableApiTermination is set"
	r := newRig(t, nil)
	var answer error = &cloud.TerminationError{Err: errors.New("its attribute disableApiTermination is set")}
	r.Cloud.Answer = func(call string) error {
		if call == "terminate" {
			return answer
		}
		return nil
	}
	condition := func() *status.Condition {
		return r.claim().StatusConditions().Get(karpv1.ConditionTypeInstanceTerminating)
	}
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 10 {
		r.step()
	}
	if c := condition(); !c.IsFalse() || c.Reason != "TerminationRefused" || c.Message != words {
		t.Errorf("condition %+v", c)
	}
	for _, on := range []string{"Node/n", "NodeClaim/c"} {
		if !r.event(on + " TerminationRefused: " + words) {
			t.Errorf("%s is not told: %v", on, r.Events.List)
		}
	}
	answer = nil
	r.Rig.Clock.Step(10 * time.Second)
	r.step()
	if c := condition(); !c.IsTrue() || r.Cloud.Ledger[0].State != cloud.ShuttingDown {
		t.Errorf("condition %+v, machine %s", c, r.Cloud.Ledger[0].State)
	}
}

// What the cloud refuses goes on until people mend it. All machines with which it is the same share
// a line of the log, and each is asked for every ten seconds, whatever happens to it between.
func TestACloudThatEndsNoMachineIsAskedEveryTenSecondsAndLoggedOnce(t *testing.T) {
	for name, answer := range map[string]func(id string) error{
		"denied": func(id string) error {
			return &cloud.TerminationError{Err: &cloud.UnauthorizedError{Action: "ec2:TerminateInstances", Err: errors.New("on instance/" + id)}}
		},
		"broken":    func(string) error { return errors.New("try later") },
		"throttled": func(string) error { return &cloud.ThrottledError{Err: errors.New("slow down")} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			asked := map[string][]string{}
			refusing := &refusing{Provider: r.Cloud, answer: func(id string) error {
				asked[id] = append(asked[id], r.Rig.Clock.Since(looptest.Noon).String())
				return answer(path.Base(id))
			}}
			r.Deps.Provider = refusing
			for _, name := range []string{"d", "e"} { // whose Nodes never came
				c := r.NewClaim(name)
				c.Finalizers = []string{engine.Finalizer}
				r.Must(r.Rig.Client.Create(ctx, c))
				c.Status.ProviderID = "test://i-0" + name
				r.Must(r.Rig.Client.Status().Update(ctx, c))
				r.Must(r.Rig.Client.Delete(ctx, c))
			}
			r.Must(r.Rig.Client.Delete(ctx, r.claim()))
			var lines []string
			listening := log.IntoContext(ctx, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
			nodes, claims := termination.New(r.Deps), lifecycle.New(r.Deps)
			for range 40 {
				r.Sync()
				for range 3 { // as when its condition changes
					_, err := nodes.Reconcile(listening, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
					r.Must(err)
					for _, name := range []string{"c", "d", "e"} {
						_, err := claims.Reconcile(listening, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
						r.Must(err)
					}
				}
				r.Rig.Clock.Step(time.Second)
			}
			for id, want := range map[string]string{
				"test://1":    "5s 6s 8s 12s 20s 30s", // its Node is drained
				"test://i-0d": "0s 1s 3s 7s 15s 25s 35s", "test://i-0e": "0s 1s 3s 7s 15s 25s 35s",
			} {
				if got := strings.Join(asked[id], " "); got != want {
					t.Errorf("%s was asked for at %s", id, got)
				}
			}
			var said []string
			for _, line := range lines {
				if strings.Contains(line, "the removal of an instance failed") {
					said = append(said, line)
				}
			}
			if len(said) != 1 {
				t.Errorf("logged\n%s", strings.Join(lines, "\n"))
			}
		})
	}
}

// As where a policy of IAM lost the right to describe instances while many machines go.
func TestACloudThatTellsOfNoMachineIsAskedEveryTenSecondsAndLoggedOnce(t *testing.T) {
	r := newRig(t, nil)
	asked := map[string][]string{}
	silent := &silent{Provider: r.Cloud, asked: func(what string) {
		asked[what] = append(asked[what], r.Rig.Clock.Since(looptest.Noon).String())
	}}
	r.Deps.Provider = silent
	r.machine("o", "test://i-0o", "o", nil)
	d := r.NewClaim("d") // no instance of it is on record
	d.Finalizers = []string{engine.Finalizer}
	r.Must(r.Rig.Client.Create(ctx, d))
	for _, n := range []string{"n", "o"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}}
		r.Get(node)
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		r.Must(r.Rig.Client.Status().Update(ctx, node))
	}
	for _, c := range []string{"c", "o", "d"} {
		r.Must(r.Rig.Client.Delete(ctx, &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: c}}))
	}
	var lines []string
	listening := looptest.Logged(&lines)
	nodes, claims := termination.New(r.Deps), lifecycle.New(r.Deps)
	round := func() {
		r.Sync()
		for _, name := range []string{"c", "o", "d"} {
			_, err := claims.Reconcile(listening, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
			r.Must(err)
		}
		for _, name := range []string{"n", "o"} {
			_, err := nodes.Reconcile(listening, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
			r.Must(err)
		}
		r.Rig.Clock.Step(time.Second)
	}
	for range 40 {
		round()
	}
	for _, of := range []string{"test://1", "test://i-0o", "all"} {
		if got := strings.Join(asked[of], " "); got != "0s 1s 3s 7s 15s 25s 35s" {
			t.Errorf("%s was asked for at %s", of, got)
		}
	}
	if len(lines) != 2 || !strings.Contains(lines[0], "listing instances") || !strings.Contains(lines[1], "looking up test://1") {
		t.Errorf("logged\n%s", strings.Join(lines, "\n"))
	}
	silent.answers = true
	for range 30 {
		round()
	}
	for _, m := range r.Cloud.Ledger {
		if m.State != cloud.ShuttingDown {
			t.Errorf("%s is %s although the cloud answers again", m.ProviderID, m.State)
		}
	}
}

// silent is a cloud that does not tell of machines.
type silent struct {
	cloud.Provider
	asked   func(what string)
	answers bool
}

func (s *silent) Get(ctx context.Context, id string) (cloud.Instance, error) {
	s.asked(id)
	if s.answers {
		return s.Provider.Get(ctx, id)
	}
	return cloud.Instance{}, &cloud.UnauthorizedError{Action: "ec2:DescribeInstances", Err: errors.New("on instance/" + path.Base(id))}
}

func (s *silent) List(ctx context.Context) ([]cloud.Instance, error) {
	s.asked("all")
	if s.answers {
		return s.Provider.List(ctx)
	}
	return nil, &cloud.UnauthorizedError{Action: "ec2:DescribeInstances", Err: errors.New("on any")}
}

// refusing is a cloud that answers what a test says to the end of a machine.
type refusing struct {
	cloud.Provider
	answer func(id string) error
}

func (r *refusing) Terminate(_ context.Context, id string) error { return r.answer(id) }

// As when the policy for an interruption lifts the grace period of the claim and the budgets.
func TestWhereThereIsNoDeadlineNoneIsTold(t *testing.T) {
	r := newRig(t, func(c *karpv1.NodeClaim) {
		c.Annotations = map[string]string{
			karpv1.NodeClaimTerminationTimestampAnnotationKey: drain.Never.Format(time.RFC3339),
			drain.IgnoresAnnotation:                           drain.GuardedPods,
		}
	})
	r.pod("web", nil)
	r.Must(r.Rig.Client.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}))
	r.Must(r.Rig.Client.Delete(ctx, r.claim()))
	for range 3 {
		r.step()
	}
	if !r.event("Pod/web Disrupted: Deleted with a grace period of 30 s: the policy for its node's interruption lets no PodDisruptionBudget hold it back") {
		t.Errorf("events %v", r.Events.List)
	}
	for _, e := range r.Events.List {
		if strings.Contains(e, "9999") || strings.Contains(e, "0001") {
			t.Error(e)
		}
	}
}

// The machine of a pod that tolerates the taint is gone, and its kubelet has not been missed yet.
func TestAReleaseIsToldOfOnceAlthoughTheKubeletWasReadyAMomentAgo(t *testing.T) {
	r := newRig(t, nil)
	r.pod("stays", func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: karpv1.DisruptedTaintKey, Operator: corev1.TolerationOpExists}}
	})
	r.Cloud.Terminated = func(m *looptest.Machine) { m.Gone = true }
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	for range 20 {
		r.step()
	}
	if !r.outOfService() {
		t.Fatal("the Node is not marked")
	}
	before := r.claim()
	for range 5 {
		r.step()
	}
	if after := r.claim(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the claim is written to again and again: %+v", after.Status.Conditions)
	}
}

func TestAPodThatIsNotShownToBeEndingYetIsNotAskedToLeaveAgain(t *testing.T) {
	r := newRig(t, nil)
	r.pod("a", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/f"} })
	var asked []string
	r.API.Before = func(verb string, _ client.Object) error {
		if verb == "evict" {
			asked = append(asked, r.Rig.Clock.Since(looptest.Noon).String())
		}
		return nil
	}
	late := &late{Reader: r.Deps.Client}
	r.Must(late.List(ctx, &late.pods))
	r.Deps.Client = late
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	nodes := termination.New(r.Deps)
	for range 20 {
		r.Rig.Clock.Step(100 * time.Millisecond)
		_, err := nodes.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
		r.Must(err)
	}
	if got := strings.Join(asked, " "); got != "200ms 1.2s" {
		t.Errorf("it was asked to leave at %s", got)
	}
}

// late is a cache that shows the pods of another time.
type late struct {
	client.Reader
	pods corev1.PodList
}

func (l *late) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if into, ok := list.(*corev1.PodList); ok && len(l.pods.Items) > 0 {
		*into = *l.pods.DeepCopy()
		return nil
	}
	return l.Reader.List(ctx, list, opts...)
}

func TestWhatKeepsTheCloudFromSayingWhoseANodeIsIsLoggedOnce(t *testing.T) {
	r := newRig(t, nil)
	r.orphan()
	r.Cloud.Answer = func(string) error {
		return &cloud.UnauthorizedError{Action: "ec2:DescribeInstances", Err: errors.New("you may not")}
	}
	r.Sync()
	var lines []string
	nodes, logged := termination.New(r.Deps), looptest.Logged(&lines)
	for range 5 {
		r.Rig.Clock.Step(time.Minute)
		result, err := nodes.Reconcile(logged, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
		if err != nil || result.RequeueAfter == 0 {
			t.Errorf("answered %v, %v", result, err)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "you may not") {
		t.Errorf("logged %q", lines)
	}
	r.Cloud.Answer = nil
	r.Rig.Clock.Step(time.Minute)
	_, err := nodes.Reconcile(logged, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	r.Must(err)
	if _, adopted := r.node().Labels["karpenter.kwok.sh/kwoknodeclass"]; !adopted {
		t.Errorf("once the cloud can be asked, its labels are %v", r.node().Labels)
	}
}
