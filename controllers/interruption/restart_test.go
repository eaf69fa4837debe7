package interruption

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/disruption"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// switched is a cloud whose one machine can be stopped and started.
type switched struct {
	cloud.Provider
	state cloud.State
	// fixed is why it cannot; fails is what Start says.
	fixed string
	fails error
	// silent is why it does not say whether it can.
	silent error
	told   []string
}

func (s *switched) Irrestartable(context.Context, string) (string, error) { return s.fixed, s.silent }

func (s *switched) Get(context.Context, string) (cloud.Instance, error) {
	return cloud.Instance{ProviderID: "kwok://n", State: s.state}, nil
}

func (s *switched) Stop(context.Context, string) error {
	s.told, s.state = append(s.told, "stop"), cloud.Stopped
	return nil
}

func (s *switched) Start(context.Context, string) error {
	s.told = append(s.told, "start")
	if s.fails == nil {
		s.state = cloud.Running
	}
	return s.fails
}

// newRestart is a world whose machine is to be restarted for maintenance.
func newRestart(t *testing.T, s *switched) *world {
	w := newWorld(t, rule("Restart", "Maintenance"))
	w.boot("1")
	s.state = cloud.Running
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	return w
}

// lookOn makes one look at a cloud as a process that has just started.
func (w *world) lookOn(s *switched) error {
	w.Helper()
	w.Restart()
	s.Provider = w.Provider
	w.Provider = s
	_, err := New(w.Deps, &w.said).Look(ctx)
	w.Get(w.claim)
	w.Get(w.node)
	return err
}

// boot has the Node Ready after a boot.
func (w *world) boot(id string) {
	w.Helper()
	w.Get(w.node)
	w.node.Status.NodeInfo.BootID = id
	w.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.Must(w.Client.Status().Update(ctx, w.node))
}

func (w *world) restart() restart.Record {
	w.Get(w.claim)
	return restart.Of(&snapshot.Claim{Annotations: w.claim.Annotations})
}

func TestAMachineIsRestartedStepByStepByWhoeverRunsThen(t *testing.T) {
	s := &switched{}
	w := newRestart(t, s)
	for range 4 { // each look is a process of its own
		w.Must(w.lookOn(s))
		w.Clock.Step(5 * time.Second)
	}
	if !w.cordoned() || w.going() || strings.Join(s.told, " ") != "stop start" {
		t.Fatalf("told %v, cordoned %v, going %v, record %+v", s.told, w.cordoned(), w.going(), w.restart())
	}
	w.boot("2")
	w.Must(w.lookOn(s))
	w.Must(w.lookOn(s))
	if w.cordoned() || w.going() || w.restart().Done.IsZero() {
		t.Errorf("afterwards: cordoned %v, going %v, record %+v", w.cordoned(), w.going(), w.restart())
	}
	w.announce(w.said[0], cloud.Event{ID: "s", Kind: interruption.Stopped, Machine: "n", Issued: w.restart().Stop.Add(time.Second)})
	w.Must(w.lookOn(s))
	if w.going() || w.cordoned() {
		t.Error("it goes because of its own stop, of which it heard late")
	}
}

func TestAWriteThatFailsOrAProcessThatEndsOnlyRepeatsAStep(t *testing.T) {
	for cut := range 8 {
		s := &switched{}
		w := newRestart(t, s)
		writes := 0
		w.API.Before = func(string, client.Object) error {
			if writes++; writes == cut+1 {
				return errors.New("the API server is down")
			}
			return nil
		}
		for range 8 {
			_ = w.lookOn(s) // the error is the one above
			w.Clock.Step(5 * time.Second)
			if s.state == cloud.Running && slices.Contains(s.told, "start") {
				w.boot("2")
			}
		}
		w.Must(w.lookOn(s))
		if w.going() || w.cordoned() || w.restart().Done.IsZero() || s.state != cloud.Running {
			t.Errorf("cut off at write %d: told %v, cordoned %v, record %+v", cut, s.told, w.cordoned(), w.restart())
		}
	}
}

func TestNothingBeginsWhileTheCloudDoesNotSayWhetherItCanAndOthersAreAnswered(t *testing.T) {
	s := &switched{silent: errors.New("EC2 is down")}
	w := newRestart(t, s)
	w.announce(w.said[0], cloud.Event{ID: "r", Kind: interruption.Rebalance, Machine: "n"})
	for range 3 {
		if err := w.lookOn(s); err == nil || !strings.Contains(err.Error(), "EC2 is down") {
			t.Errorf("the look says %v", err)
		}
		w.Clock.Step(5 * time.Second)
	}
	told := slices.ContainsFunc(w.Events.List, func(e string) bool { return strings.Contains(e, "SpotRebalanceRecommendation") })
	if len(s.told) > 0 || !w.restart().Begun.IsZero() || !told {
		t.Errorf("told the cloud %v, record %+v, told people %v", s.told, w.restart(), told)
	}
}

func TestAMachineThatCannotBeRestartedIsReplacedAndSaysWhy(t *testing.T) {
	s := &switched{fixed: "a spot instance cannot be stopped"}
	w := newRestart(t, s)
	w.Must(w.lookOn(s))
	w.Must(w.lookOn(s))
	told := slices.ContainsFunc(w.Events.List, func(e string) bool { return strings.Contains(e, s.fixed) })
	if len(s.told) > 0 || w.cordoned() || !told || w.claim.Annotations[disruption.RequestAnnotation] == "" {
		t.Errorf("told the cloud %v, told people %v, annotations %v", s.told, told, w.claim.Annotations)
	}
}

func TestAMachineThatDoesNotStartIsToldOfAndGoesInTheEnd(t *testing.T) {
	s := &switched{fails: &cloud.InsufficientCapacityError{Cause: "sold out"}}
	w := newRestart(t, s)
	for range 4 {
		w.Must(w.lookOn(s))
		w.Clock.Step(5 * time.Second)
	}
	told := slices.ContainsFunc(w.Events.List, func(e string) bool { return strings.Contains(e, "sold out") })
	if w.going() || !told {
		t.Fatalf("going %v, told %v", w.going(), told)
	}
	w.Clock.Step(restart.DefaultTimeout)
	w.Must(w.lookOn(s))
	w.Must(w.lookOn(s))
	if !w.going() || w.restart().Failed == "" {
		t.Errorf("going %v, record %+v", w.going(), w.restart())
	}
}

func TestAnActionOfACloudThatCannotRestartIsAReplacement(t *testing.T) {
	w := newWorld(t, v1alpha1.InterruptionRule{Events: []v1alpha1.EventKind{"Maintenance"}, Action: "Restart"})
	w.boot("1")
	w.announce(about(interruption.Maintenance, 24*time.Hour))
	w.look()
	w.look()
	if w.restart().Refused == "" || w.cordoned() {
		t.Errorf("record %+v", w.restart())
	}
}

func TestPodsOfAnotherNodeOfTheInstanceLeaveBeforeARestart(t *testing.T) {
	s := &switched{}
	w := newRestart(t, s)
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "twin", UID: "twin"}}
	other.Spec.ProviderID = w.node.Spec.ProviderID
	other.Status.Conditions = w.node.Status.Conditions
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"}, Spec: corev1.PodSpec{NodeName: other.Name, Containers: []corev1.Container{{Name: "c"}}}}
	w.Must(errors.Join(w.Client.Create(ctx, other), w.Client.Create(ctx, pod)))
	w.Must(w.lookOn(s))
	w.Get(other)
	if !interruption.HasCordon(other) || !w.cordoned() || len(s.told) > 0 || w.Get(pod) {
		t.Fatalf("cordoned %v and %v, told %v, pod there %v", interruption.HasCordon(other), w.cordoned(), s.told, w.Get(pod))
	}
	for range 3 {
		w.Clock.Step(5 * time.Second)
		w.Must(w.lookOn(s))
	}
	w.boot("2")
	w.Must(w.lookOn(s))
	w.Must(w.lookOn(s))
	w.Get(other)
	if interruption.HasCordon(other) || w.cordoned() || strings.Join(s.told, " ") != "stop start" {
		t.Errorf("afterwards: cordoned %v and %v, told %v", interruption.HasCordon(other), w.cordoned(), s.told)
	}
}
