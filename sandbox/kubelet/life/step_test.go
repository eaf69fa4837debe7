package life

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story plays a pod from one wake-up to the next, like the kubelet does, and
// tells what its status says whenever that changes.
type story struct {
	pod    *corev1.Pod
	life   Life
	now    time.Time
	timing Timing
	// noMount and noUnmount keep the volumes away.
	noMount, noUnmount bool
	lines              []string
}

func newStory(pod *corev1.Pod) *story {
	return &story{pod: pod, now: epoch, timing: Timing{
		Start: 300 * time.Millisecond, Init: 100 * time.Millisecond,
		Stop: 100 * time.Millisecond, Exec: 500 * time.Millisecond,
	}}
}

// play steps until nothing is due any more.
func (s *story) play() *story {
	for {
		out := Step(Input{
			Pod: s.pod, Life: s.life, Now: s.now, Timing: s.timing,
			CanMount: !s.noMount, CanUnmount: !s.noUnmount, HostIP: "10.1.0.1", PodIP: "100.64.0.1",
		})
		s.life, s.pod.Status = out.Life, out.Status
		s.tell(picture(out.Status))
		if out.Remove {
			s.tell("removed")
			return s
		}
		if out.Wake.IsZero() {
			return s
		}
		s.now = out.Wake
	}
}

func (s *story) tell(text string) {
	if n := len(s.lines); n > 0 && strings.HasSuffix(s.lines[n-1], "  "+text) {
		return
	}
	s.lines = append(s.lines, fmt.Sprintf("%6s  %s", s.now.Sub(epoch), text))
}

// delete asks for the deletion after a while.
func (s *story) delete(after time.Duration, grace int64) *story {
	s.now = s.now.Add(after)
	s.pod.DeletionTimestamp = &metav1.Time{Time: s.now}
	s.pod.DeletionGracePeriodSeconds = &grace
	return s
}

func (s *story) expect(t *testing.T, want string) {
	t.Helper()
	got := strings.Join(s.lines, "\n")
	if want = strings.TrimSpace(want); strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// picture is a status on one line.
func picture(s corev1.PodStatus) string {
	parts := []string{string(s.Phase)}
	for _, c := range append(s.InitContainerStatuses, s.ContainerStatuses...) {
		parts = append(parts, c.Name+"="+state(c))
	}
	for _, c := range s.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			parts = append(parts, "Ready")
		}
	}
	return strings.Join(parts, " ")
}

func state(c corev1.ContainerStatus) string {
	switch {
	case c.State.Waiting != nil:
		return c.State.Waiting.Reason
	case c.State.Running != nil:
		return "Running"
	default:
		return fmt.Sprintf("%s(%d)", c.State.Terminated.Reason, c.State.Terminated.ExitCode)
	}
}

func pod(inits ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}
	for _, name := range inits {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: name})
	}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "c"}}
	return p
}

func TestPodStartsAfterItsDelay(t *testing.T) {
	newStory(pod()).play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready`)
}

func TestInitContainersRunOneAfterTheOther(t *testing.T) {
	newStory(pod("a", "b")).play().expect(t, `
    0s  Pending a=PodInitializing b=PodInitializing c=PodInitializing
 300ms  Pending a=Running b=PodInitializing c=PodInitializing
 400ms  Pending a=Completed(0) b=Running c=PodInitializing
 500ms  Running a=Completed(0) b=Completed(0) c=Running Ready`)
}

func TestSidecarKeepsRunning(t *testing.T) {
	p := pod("side", "init")
	p.Spec.InitContainers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	newStory(p).play().delete(time.Second, 30).play().expect(t, `
    0s  Pending side=PodInitializing init=PodInitializing c=PodInitializing
 300ms  Pending side=Running init=PodInitializing c=PodInitializing
 400ms  Pending side=Running init=Running c=PodInitializing
 500ms  Running side=Running init=Completed(0) c=Running Ready
  1.6s  Succeeded side=Completed(0) init=Completed(0) c=Completed(0)
  1.6s  removed`)
}

func TestPodWaitsForItsVolumes(t *testing.T) {
	s := newStory(pod())
	s.noMount = true
	s.play()
	s.noMount, s.now = false, epoch.Add(time.Minute)
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
1m0.3s  Running c=Running Ready`)
}

func TestDeletionTakesPreStopAndStopTime(t *testing.T) {
	p := pod()
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 4}}}
	newStory(p).play().delete(time.Second, 30).play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
  5.4s  Succeeded c=Completed(0)
  5.4s  removed`)
}

func TestPreStopCommandTakesItsConfiguredTime(t *testing.T) {
	p := pod()
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{}}}
	newStory(p).play().delete(time.Second, 30).play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
  1.9s  Succeeded c=Completed(0)
  1.9s  removed`)
}

func TestGracePeriodCutsOff(t *testing.T) {
	s := newStory(pod())
	s.timing.Stop = time.Minute
	s.play().delete(time.Second, 10).play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
 11.3s  Failed c=Error(137)
 11.3s  removed`)
}

func TestPodThatNeverStartedGoesAtOnce(t *testing.T) {
	s := newStory(pod())
	s.noMount = true
	s.play().delete(time.Second, 30).play().expect(t, `
    0s  Pending c=ContainerCreating
    1s  Failed c=Error(137)
    1s  removed`)
}

func TestPodStaysUntilItsVolumesAreUnmounted(t *testing.T) {
	s := newStory(pod())
	s.noUnmount = true
	s.play().delete(time.Second, 30).play()
	s.noUnmount, s.now = false, epoch.Add(time.Hour)
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
  1.4s  Succeeded c=Completed(0)
1h0m0s  removed`)
}

func TestRunForEndsThePod(t *testing.T) {
	s := newStory(pod())
	s.timing.RunFor = ptr.To(2 * time.Second)
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
  2.3s  Succeeded c=Completed(0)`)
	if !s.life.Unmounted {
		t.Error("a pod that ended keeps its volumes")
	}
}

func TestExitCodeFailsThePod(t *testing.T) {
	s := newStory(pod())
	s.timing.RunFor, s.timing.ExitCode = ptr.To(time.Duration(0)), 3
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Failed c=Error(3)`)
}

func TestShorterStartDelayFreesAWaitingPod(t *testing.T) {
	s := newStory(pod())
	out := Step(Input{Pod: s.pod, Now: epoch, Timing: Timing{Start: time.Hour}, CanMount: true})
	s.life, s.now = out.Life, epoch.Add(time.Second)
	s.play().expect(t, `
    1s  Running c=Running Ready`)
}

func TestFinalPhaseOfOthersIsKept(t *testing.T) {
	s := newStory(pod())
	s.play()
	s.pod.Status.Phase, s.pod.Status.Reason = corev1.PodFailed, "Evicted"
	s.play()
	if s.pod.Status.Reason != "Evicted" || s.life.Ended.IsZero() {
		t.Errorf("reason %q, ended %v", s.pod.Status.Reason, s.life.Ended)
	}
}

func TestReadinessGateHoldsBackReady(t *testing.T) {
	p := pod()
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "lb"}}
	s := newStory(p).play()
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "lb", Status: corev1.ConditionTrue})
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running
 300ms  Running c=Running Ready`)
}

func TestMachineThatLostItsMemoryStartsContainersAgain(t *testing.T) {
	s := newStory(pod()).play()
	s.life, s.now = Life{}, epoch.Add(time.Minute)
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
  1m0s  Pending c=ContainerCreating
1m0.3s  Running c=Running Ready`)
	if n := s.pod.Status.ContainerStatuses[0].RestartCount; n != 1 {
		t.Errorf("restart count is %d", n)
	}
}

func TestMachineThatLostItsMemoryFailsPodsThatNeverRestart(t *testing.T) {
	p := pod()
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	s := newStory(p).play()
	s.life, s.now = Life{}, epoch.Add(time.Minute)
	s.play().expect(t, `
    0s  Pending c=ContainerCreating
 300ms  Running c=Running Ready
  1m0s  Failed c=Error(137)`)
}

func TestStatusIsStableOnceReported(t *testing.T) {
	s := newStory(pod("a")).play()
	before := s.pod.Status.DeepCopy()
	s.now = s.now.Add(time.Hour)
	s.timing.Start = time.Minute
	s.play()
	if !equality.Semantic.DeepEqual(s.pod.Status, *before) {
		t.Errorf("got\n%v\nwant\n%v", s.pod.Status, *before)
	}
}
