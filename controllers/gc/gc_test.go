package gc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/gc"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

var ctx = context.Background()

// scene is a machine that is a minute old, with or without a claim and a Node.
type scene struct {
	*looptest.Rig
	machine *looptest.Machine
}

func newScene(t *testing.T) *scene {
	s := &scene{Rig: looptest.New(t)}
	s.machine = &looptest.Machine{Instance: cloud.Instance{ProviderID: "test://1", Token: "uid-c", Claim: "c", State: cloud.Running, Launched: looptest.Noon.Add(-time.Minute)}}
	s.Cloud.Ledger = append(s.Cloud.Ledger, s.machine)
	return s
}

func (s *scene) claim(conditions ...string) *karpv1.NodeClaim {
	c := s.NewClaim("c")
	c.Finalizers = []string{lifecycle.Finalizer}
	s.Must(s.Rig.Client.Create(ctx, c))
	c.Status.ProviderID = "test://1"
	for _, x := range conditions {
		c.StatusConditions().SetTrue(x)
		for i := range c.Status.Conditions {
			c.Status.Conditions[i].LastTransitionTime = metav1.NewTime(s.Rig.Clock.Now())
		}
	}
	s.Must(s.Rig.Client.Status().Update(ctx, c))
	return c
}

func (s *scene) node(ours, ready bool) *corev1.Node {
	n := s.Join(s.machine, "n")
	n.Labels["karpenter.kwok.sh/kwoknodeclass"] = "default"
	if ours {
		n.Finalizers = []string{lifecycle.Finalizer}
	}
	s.Must(s.Rig.Client.Update(ctx, n))
	if !ready {
		n.Status.Conditions = nil
		s.Must(s.Rig.Client.Status().Update(ctx, n))
	}
	return n
}

func (s *scene) deleting(o interface {
	GetDeletionTimestamp() *metav1.Time
}) bool {
	return o.GetDeletionTimestamp() != nil
}

func (s *scene) sweep(t *testing.T) {
	t.Helper()
	s.Sync()
	if err := gc.New(s.Deps).Sweep(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAnotherNodeOfAMachineWithoutAClaimIsKeptUntilItsPodsAreDrained(t *testing.T) {
	s := newScene(t)
	own, other := s.node(true, true), s.Join(s.machine, "m")
	s.sweep(t)
	if s.Get(own); !s.deleting(own) {
		t.Error("the machine's own Node stays")
	}
	if !s.Get(other) {
		t.Error("the other Node is gone, and its pods with it")
	}
}

func TestAMachineWithoutAClaimIsEnded(t *testing.T) {
	s := newScene(t)
	s.sweep(t)
	if s.machine.State != cloud.ShuttingDown {
		t.Error("it still runs")
	}
}

func TestASecondMachineOfOneLaunchIsEnded(t *testing.T) {
	s := newScene(t)
	s.claim()
	second := &looptest.Machine{Instance: cloud.Instance{ProviderID: "test://2", Token: "uid-c", Claim: "c", State: cloud.Running, Launched: looptest.Noon.Add(-time.Minute)}}
	s.Cloud.Ledger = append(s.Cloud.Ledger, second)
	s.sweep(t)
	if s.machine.State != cloud.Running || second.State != cloud.ShuttingDown {
		t.Errorf("the claim's machine is %s, the other %s", s.machine.State, second.State)
	}
}

func TestAMachineWithoutAClaimWhoseNodeIsOursIsDrainedFirst(t *testing.T) {
	s := newScene(t)
	n := s.node(true, true)
	s.sweep(t)
	s.Get(n)
	if s.machine.State != cloud.Running || !s.deleting(n) {
		t.Errorf("machine %s, node deleted %v", s.machine.State, s.deleting(n))
	}
}

func TestAMachineIsLeftAloneWhileItMayStillBeAccountedFor(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"its claim does not know it yet": func(s *scene) { s.claim().Status.ProviderID = "" },
		"its claim is being deleted":     func(s *scene) { s.Must(s.Rig.Client.Delete(ctx, s.claim())) },
		"it is young":                    func(s *scene) { s.machine.Launched = looptest.Noon.Add(-20 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			change(s)
			s.sweep(t)
			if s.machine.State != cloud.Running {
				t.Error("it was stopped")
			}
		})
	}
}

func TestAClaimWhoseMachineIsGoneIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		age    time.Duration
		want   bool
	}{
		"registered, no Node":               {func(s *scene) { s.claim("Launched", "Registered"); s.machine.Gone = true }, 0, true},
		"registered, silent kubelet":        {func(s *scene) { s.claim("Launched", "Registered"); s.node(true, false); s.machine.Gone = true }, 0, true},
		"registered, kubelet reports Ready": {func(s *scene) { s.claim("Launched", "Registered"); s.node(true, true); s.machine.Gone = true }, 0, false},
		"only the list lags":                {func(s *scene) { s.claim("Launched", "Registered"); s.Cloud.Hidden = map[string]bool{"test://1": true} }, 0, false},
		"never joined, just launched":       {func(s *scene) { s.claim("Launched"); s.machine.Gone = true }, time.Minute, false},
		"never joined, launched long ago":   {func(s *scene) { s.claim("Launched"); s.machine.Gone = true }, 2 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.change(s)
			s.Rig.Clock.Step(test.age)
			s.sweep(t)
			claim := s.Claims()[0]
			if got := s.deleting(&claim); got != test.want {
				t.Errorf("deleted: %v", got)
			}
			failed := test.want && strings.HasPrefix(name, "never joined")
			if got := claim.Annotations[lifecycle.GivenUpAnnotation] == string(lifecycle.MachineEnded); got != failed || failed != (len(s.Events.List) == 1) {
				t.Errorf("counts as a failure: %v, events %v", got, s.Events.List)
			}
		})
	}
}

func TestAClaimThatHasLostItsProviderIDFindsItsMachineAgain(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
		gone   bool
	}{
		"ours":                 {func(*scene) {}, "test://1", false},
		"another controller's": {func(s *scene) { s.machine.Token = "" }, "test://1", false},
		"of an earlier claim":  {func(s *scene) { s.machine.Token = "uid-b" }, "", true},
		"gone":                 {func(s *scene) { s.machine.Gone = true }, "", true},
		"only the list lags":   {func(s *scene) { s.Cloud.Hidden = map[string]bool{"test://1": true}; s.node(true, false) }, "test://1", false},
		"the list lags, and its Node's name is another machine's": {func(s *scene) {
			s.Cloud.Hidden = map[string]bool{"test://1": true}
			s.node(true, false)
			s.machine.Token = "uid-b"
		}, "", true},
		"its Node does not name the machine yet": {func(s *scene) {
			s.Cloud.Hidden = map[string]bool{"test://1": true}
			n := s.node(true, false)
			n.Spec.ProviderID = ""
			s.Must(s.Rig.Client.Update(ctx, n))
			s.Cloud.Answer = func(call string) error {
				if call == "get" {
					return errors.New("a machine without a name was asked for")
				}
				return nil
			}
		}, "", true},
		"gone, with its Node left":            {func(s *scene) { s.node(true, false); s.machine.Gone = true }, "", true},
		"gone, and its kubelet reports Ready": {func(s *scene) { s.node(true, true); s.machine.Gone = true }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			claim := s.claim("Launched", "Registered")
			claim.Status.ProviderID, claim.Status.NodeName = "", "n"
			s.Must(s.Rig.Client.Status().Update(ctx, claim))
			test.change(s)
			s.sweep(t)
			s.Get(claim)
			if claim.Status.ProviderID != test.want || s.deleting(claim) != test.gone {
				t.Errorf("provider ID %q, deleted %v", claim.Status.ProviderID, s.deleting(claim))
			}
			if ended := s.machine.State == cloud.ShuttingDown; test.want != "" && ended {
				t.Error("its machine is ended")
			}
		})
	}
}

func TestANodeOfOursWithNeitherClaimNorMachineIsDeleted(t *testing.T) {
	s := newScene(t)
	n := s.node(true, false)
	s.machine.Gone = true
	s.sweep(t)
	s.Get(n)
	if !s.deleting(n) {
		t.Error("it is still there")
	}
}

func TestOneMachineThatCannotBeEndedDoesNotKeepTheOthers(t *testing.T) {
	s := newScene(t)
	other := &looptest.Machine{Instance: cloud.Instance{ProviderID: "test://2", Token: "uid-d", State: cloud.Running, Launched: looptest.Noon.Add(-time.Hour)}}
	s.Cloud.Ledger = append(s.Cloud.Ledger, other)
	first := true
	s.Cloud.Answer = func(call string) error {
		if call == "terminate" && first {
			first = false
			return errors.New("throttled")
		}
		return nil
	}
	s.Sync()
	if err := gc.New(s.Deps).Sweep(ctx); err == nil {
		t.Error("the failure was swallowed")
	}
	if other.State != cloud.ShuttingDown {
		t.Error("the other machine still runs")
	}
}
