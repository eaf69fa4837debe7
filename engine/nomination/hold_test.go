package nomination_test

import (
	"math"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/nomination"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// open lets a Node take pods, as far as Millwright keeps it from that.
func open(n *snapshot.Node) {
	n.Object.Spec.Taints = nil
	n.Object.Labels[snapshot.RegisteredLabel] = "true"
}

// network adds an agent of the network that tolerates nothing.
func network(s *snapshot.Snapshot) {
	cni := corev1.Volume{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/cni/net.d"}}}
	pod := &corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true, Volumes: []corev1.Volume{cni}}}
	s.DaemonSets = append(s.DaemonSets, &snapshot.DaemonSet{DaemonSet: &appsv1.DaemonSet{}, Pod: &snapshot.Pod{Pod: pod, Class: &snapshot.Class{}}})
}

// startupTaint gives a Node a startup taint of its pool.
func startupTaint(s *snapshot.Snapshot) {
	n := s.Node("n4")
	n.Claim.StartupTaints = []corev1.Taint{starting}
	n.Object.Spec.Taints = append(n.Object.Spec.Taints, starting)
}

// tolerated gives a Node a taint, if it has not got it, that a DaemonSet tolerates.
func tolerated(s *snapshot.Snapshot, t corev1.Taint) {
	if node := s.Node("n4").Object; !slices.Contains(node.Spec.Taints, t) {
		node.Spec.Taints = append(node.Spec.Taints, t)
	}
	agent := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: t.Key, Operator: corev1.TolerationOpExists}}}}
	s.DaemonSets = append(s.DaemonSets, &snapshot.DaemonSet{DaemonSet: &appsv1.DaemonSet{}, Pod: &snapshot.Pod{Pod: agent, Class: &snapshot.Class{}}})
}

// A Node waits until it is ready and has no startup taints, unless what makes it so could not run there; for the
// nominations of its own pods, as far as they are needed, for a short time; as long for those of others that were launched with it, for a moment if one of these
// is not ready; and not once it takes pods.
func TestANodeWaitsForNominationsAndForAMomentForOthers(t *testing.T) {
	for name, row := range map[string]struct {
		ready time.Duration // before now; negative if it is not ready
		with  func(*snapshot.Snapshot)
		want  []string
		until time.Duration // after now
		free  float64       // the share of it that no nominations keep; zero if it is not looked at
	}{
		"a pod is to be nominated": {ready: time.Second, want: []string{"big"}, until: 2*nomination.Grace - time.Second},
		"not for ever":             {ready: 2 * nomination.Grace, free: 1},
		"the launch was recorded long after": {ready: time.Minute, want: []string{"big"}, until: 2*nomination.Grace - time.Second, with: func(s *snapshot.Snapshot) {
			s.Node("n4").Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now.Add(-time.Second)}
		}},
		"a Node that is not ready": {ready: -1, want: []string{"big"}, until: nomination.Boot - 2*time.Second},
		"also for pods that are nominated, as kube-scheduler forgets that": {ready: -1, want: []string{"big"}, until: nomination.Boot - 2*time.Second,
			with: func(s *snapshot.Snapshot) { nominate(s, "big", "n4", true) }},
		"what makes it ready may not run there": {ready: -1, want: []string{"big"}, until: nomination.Grace - 2*time.Second, with: network},
		"what makes it ready may run there": {ready: -1, want: []string{"big"}, until: nomination.Boot - 2*time.Second, with: func(s *snapshot.Snapshot) {
			network(s)
			s.DaemonSets[0].Pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}},
		"a startup taint is there": {ready: time.Second, want: []string{"big"}, until: nomination.Boot - 2*time.Second, with: startupTaint},
		"what takes the startup taint off may not run there": {ready: time.Second, want: []string{"big"}, until: nomination.Grace - 2*time.Second, with: func(s *snapshot.Snapshot) {
			startupTaint(s)
			tolerated(s, starting)
		}},
		"all pods of DaemonSets tolerate that it is not ready": {ready: -1, want: []string{"big"}, until: nomination.Boot - 2*time.Second, with: func(s *snapshot.Snapshot) {
			tolerated(s, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute})
		}},
		"and that it is unreachable": {ready: -1, want: []string{"big"}, until: nomination.Boot - 2*time.Second, with: func(s *snapshot.Snapshot) {
			tolerated(s, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule})
		}},
		"it is not known who wrote to it when": {ready: 2 * nomination.Grace, free: 1, with: func(s *snapshot.Snapshot) {
			s.Node("n4").Object.ManagedFields = []metav1.ManagedFieldsEntry{{}, {FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)}}
		}},
		"something else was written to it long after it was ready": {ready: 2 * nomination.Grace, free: 1, with: func(s *snapshot.Snapshot) {
			at := metav1.NewTime(s.Now)
			s.Node("n4").Object.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)}}
		}},
		"its startup taint has gone long after it was ready": {ready: time.Minute, want: []string{"big"}, until: 2*nomination.Grace - time.Second, with: func(s *snapshot.Snapshot) {
			gone := metav1.NewTime(s.Now.Add(-time.Second))
			s.Node("n4").Object.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &gone, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:taints":{}}}`)}}
		}},
		"all are nominated": {ready: time.Second, free: 0.125, with: func(s *snapshot.Snapshot) { nominate(s, "big", "n4", true) }},
		"pods are to be nominated to another Node": {ready: nomination.Together, want: []string{"big", "web-3"}, until: nomination.Grace - nomination.Together,
			with: func(s *snapshot.Snapshot) { s.Nominated[key("big")] = "n5" }},
		"another Node is not ready": {ready: time.Second, want: []string{"big", "web-3"}, until: nomination.Together - time.Second,
			with: func(s *snapshot.Snapshot) {
				s.Nominated[key("big")] = "n5"
				s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
			}},
		"another Node is not ready, and both take long": {ready: time.Second, want: []string{"big", "web-3"}, until: 7 * time.Second,
			with: func(s *snapshot.Snapshot) {
				s.Nominated[key("big")] = "n5"
				s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
				s.Node("n4").Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now.Add(-17 * time.Second)}
			}},
		"another Node is not ready, both take long, and a third takes pods": {ready: time.Second, want: []string{"big", "web-3"}, until: nomination.Together - time.Second,
			with: func(s *snapshot.Snapshot) {
				s.Nominated[key("big")] = "n5"
				s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
				s.Node("n4").Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now.Add(-17 * time.Second)}
				s.Node("n1").Claim.Created = s.Node("n4").Claim.Created
			}},
		"and then for its own pods of all classes": {ready: nomination.Together, want: []string{"web-1", "web-2"}, until: 2*nomination.Grace - nomination.Together,
			with: func(s *snapshot.Snapshot) {
				s.Nominated[key("big")] = "n5"
				s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
			}},
		"another Node waits for it": {ready: -1, want: []string{"big", "web-3"}, until: nomination.Boot - 2*time.Second, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "n5"
			nominate(s, "big", "n5", true)
			s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionTrue
		}},
		"neither is ready for long": {ready: -1, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "n5"
			for _, n := range []*snapshot.Node{s.Node("n4"), s.Node("n5")} {
				n.Object.CreationTimestamp = metav1.NewTime(s.Now.Add(-nomination.Boot))
				n.Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now.Add(-nomination.Boot)}
			}
		}},
		"another Node is about to open": {ready: time.Second, free: 1, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "n5"
			nominate(s, "big", "n5", true)
		}},
		"no pods are planned for it any more": {ready: time.Second, want: []string{"big", "web-1", "web-2", "web-3"}, until: nomination.Grace - time.Second,
			with: func(s *snapshot.Snapshot) {
				for _, pod := range []string{"big", "web-1", "web-2"} {
					s.Nominated[key(pod)] = "n5"
				}
			}},
		"another Node has opened": {ready: time.Second, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "n5"
			nominate(s, "big", "n5", true)
			open(s.Node("n5"))
		}},
		"another Node has opened before the nominations to it": {ready: time.Second, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "n5"
			open(s.Node("n5"))
		}},
		"another Node of the plan is not ready, and the pods are few": {ready: time.Second, want: []string{"web-3"}, until: nomination.Together - time.Second, with: func(s *snapshot.Snapshot) {
			few(s)
			for _, p := range []string{"big", "web-1", "web-2"} {
				nominate(s, p, "n4", true)
			}
			s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
		}},
		"another Node of a later plan is not ready, and the pods are few": {ready: time.Second, with: func(s *snapshot.Snapshot) {
			few(s)
			for _, p := range []string{"big", "web-1", "web-2"} {
				nominate(s, p, "n4", true)
			}
			s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
			s.Node("n5").Claim.Created = s.Node("n4").Claim.Created.Add(time.Second)
		}},
		"a Node of others is not ready": {ready: time.Second, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "foreign"
			s.Node("foreign").Object.Status.Conditions = nil
		}},
		"another Node was opened before it is ready": {ready: time.Second, want: []string{"big", "web-3"}, until: nomination.Together - time.Second,
			with: func(s *snapshot.Snapshot) {
				s.Nominated[key("big")] = "n5"
				nominate(s, "big", "n5", true)
				open(s.Node("n5"))
				s.Node("n5").Object.Status.Conditions[0].Status = corev1.ConditionFalse
			}},
		"another Node was launched long before": {ready: time.Second, want: []string{"web-1", "web-2"}, until: 2*nomination.Grace - time.Second, with: func(s *snapshot.Snapshot) {
			s.Nominated[key("big")] = "n5"
			s.Node("n5").Claim.Created = s.Node("n4").Claim.Created.Add(-time.Minute)
		}},
		"the Node takes pods": {ready: time.Second, with: func(s *snapshot.Snapshot) { s.Node("n4").Object.Spec.Taints = nil }},
		"the Node takes planned pods first": {ready: time.Second, with: func(s *snapshot.Snapshot) {
			s.Pools[0].Policy.Initialization.PlannedFirst = true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(t, "node n4 type=m pool=main stage=appeared", "node n5 type=m pool=main stage=appeared",
				"nominate web-1 n4", "nominate web-2 n4", "nominate web-3 n5", "nominate big n4")
			for _, n := range []string{"n4", "n5"} {
				node := s.Node(n)
				node.Claim.Conditions[snapshot.Launched] = snapshot.Condition{Status: corev1.ConditionTrue, Since: s.Now.Add(-max(row.ready, 2*time.Second))}
				node.Object.CreationTimestamp = metav1.NewTime(s.Now.Add(-2 * time.Second))
				status := corev1.ConditionTrue
				if row.ready < 0 {
					status = corev1.ConditionFalse
				}
				node.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(s.Now.Add(-row.ready))}}
			}
			if row.with != nil {
				row.with(s)
			}
			h := nomination.Holds(s, "n4", s.Node("n4").Object)["n4"]
			var got []string
			for _, o := range h.For {
				got = append(got, o.Name)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("waits for %v, want %v", got, row.want)
			}
			if row.free > 0 && math.Abs(h.Free-row.free) > 1e-9 {
				t.Errorf("%v of it is free", h.Free)
			}
			if want := s.Now.Add(row.until); len(row.want) > 0 && !h.Until.Equal(want) || len(row.want) == 0 && !h.Until.IsZero() {
				t.Errorf("waits until %v, want %v", h.Until, want)
			}
		})
	}
}

// The Node may have joined after the snapshot was taken; one that it knows is as it says.
func TestANodeThatTheSnapshotDoesNotKnowYetWaitsAsWell(t *testing.T) {
	s := cluster(t, "node n4 type=m pool=main stage=appeared", "nominate big n4", "nominate web-1 n2")
	try(s, len(s.Pending))
	known := nomination.Holds(s, "n4", &corev1.Node{})["n4"]
	node := s.Node("n4").Object
	s.Node("n4").Object = nil
	if got := nomination.Holds(s, "n4", node)["n4"]; len(got.For) != 1 || got.For[0].Name != "big" || !got.Until.Equal(known.Until) || len(known.For) != 1 {
		t.Errorf("waits for %+v, one that is known for %+v", got, known)
	}
}

// Nominations are looked at again when a Node stops to wait, and every second while one that is
// not ready is kept from them until kube-scheduler has tried all pods.
func TestNominationsAreDueWithoutAnyChange(t *testing.T) {
	for name, row := range map[string]struct {
		ready bool
		tried int // pods
		want  time.Duration
	}{
		"kube-scheduler has still to try a pod": {tried: 3, want: time.Second},
		"it has tried all":                      {tried: 4},
		"the Node is ready":                     {tried: 3, ready: true, want: nomination.Together},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(t, "node n4 type=m pool=main stage=appeared", "nominate big n4")
			try(s, row.tried)
			if row.ready {
				s.Node("n4").Object.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now)}
			}
			due := time.Duration(0)
			if at := nomination.Due(s); !at.IsZero() {
				due = at.Sub(s.Now)
			}
			if due != row.want {
				t.Errorf("after %v, want %v", due, row.want)
			}
		})
	}
}
