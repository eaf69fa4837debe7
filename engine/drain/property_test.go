package drain_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// near is a time within ten minutes of noon.
func near(t *rapid.T, label string) time.Time {
	return noon.Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, label)) * time.Second)
}

func chance(t *rapid.T, label string, of int) bool {
	return rapid.IntRange(1, of).Draw(t, label) == 1
}

// anyView is a node with up to six pods, each with a volume or not, in any state.
func anyView(t *rapid.T) drain.View {
	w := newWorld()
	v := w.view
	v.Now, v.Node.Object.Finalizers = noon, []string{"karpenter.sh/termination"}
	if !chance(t, "no claim", 4) {
		v.Node.Claim = &snapshot.Claim{Name: "c", Conditions: map[string]snapshot.Condition{}}
		if chance(t, "drained", 2) {
			v.Node.Claim.Conditions[snapshot.Drained] = snapshot.Condition{Status: corev1.ConditionTrue, Since: near(t, "drained since")}
		}
	}
	if !chance(t, "not cordoned", 6) {
		drain.ApplyCordon(v.Node.Object)
	}
	if chance(t, "silent", 4) {
		v.Node.Object.Status.Conditions = nil
	}
	if chance(t, "deadline", 2) {
		v.Deadline = near(t, "deadline at")
	}
	if chance(t, "ends", 3) {
		v.Ends = near(t, "ends at")
	}
	addHooks(t, &v)
	v.Machine = rapid.SampledFrom([]drain.Machine{drain.Exists, drain.Exists, drain.Exists, drain.Stopped, drain.Gone}).Draw(t, "machine")
	v.Policy.TerminateStuck, v.Policy.MaxParallelEvictions = chance(t, "terminate stuck", 3), rapid.IntRange(0, 2).Draw(t, "parallel")
	v.Volumes.CSINodes["n"] = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com"}}}}
	if chance(t, "cloud", 2) {
		v.Cloud = &drain.CloudVolumes{Silent: rapid.SampledFrom([]string{"", "", "Throttling"}).Draw(t, "cloud silent")}
	}
	if chance(t, "deleted", 2) {
		v.Node.Object.DeletionTimestamp = &metav1.Time{Time: near(t, "deleted at")}
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
		addPod(t, &v, strconv.Itoa(i))
	}
	v.Budgets = eviction.NewBudgets(anyBudgets(t))
	return v
}

// addHooks gives the policy up to three hooks, each fulfilled or not, and the claim
// what it may say of them.
func addHooks(t *rapid.T, v *drain.View) {
	for i := range rapid.IntRange(0, 3).Draw(t, "hooks") {
		h := snapshot.Hook{
			Name: strconv.Itoa(i), Before: rapid.SampledFrom([]snapshot.HookPoint{snapshot.BeforeDrain, snapshot.BeforeTermination}).Draw(t, "before"),
			Annotation: "hook-" + strconv.Itoa(i), Timeout: time.Duration(rapid.IntRange(1, 600).Draw(t, "timeout")) * time.Second, FailClosed: chance(t, "closed", 2),
		}
		if chance(t, "fulfilled", 2) {
			metav1.SetMetaDataAnnotation(&v.Node.Object.ObjectMeta, h.Annotation, "")
		}
		v.Policy.Hooks = append(v.Policy.Hooks, h)
	}
	for _, c := range []string{snapshot.DrainHooksPassed, snapshot.TerminationHooksPassed} {
		if v.Node.Claim != nil && chance(t, c, 3) {
			v.Node.Claim.Conditions[c] = snapshot.Condition{Status: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionUnknown, corev1.ConditionTrue}).Draw(t, c), Since: near(t, "since")}
		}
	}
}

func addPod(t *rapid.T, v *drain.View, name string) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app")}, Annotations: map[string]string{}}}
	p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded}).Draw(t, "phase")
	grace := int64(rapid.IntRange(0, 300).Draw(t, "grace"))
	p.Spec.TerminationGracePeriodSeconds = &grace
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		own(p, "apps/v1", "DaemonSet", "")
	case 1:
		own(p, "apps/v1", "DaemonSet", "ebs")
		plugin(p, "ebs.csi.aws.com")
	case 2:
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 3:
		own(p, "v1", "Node", "")
	}
	if chance(t, "critical", 4) {
		p.Spec.PriorityClassName = "system-node-critical"
	}
	if chance(t, "protected", 5) {
		p.Annotations[eviction.DoNotDisruptAnnotation] = "true"
	}
	if chance(t, "ending", 4) {
		p.DeletionTimestamp = &metav1.Time{Time: near(t, "ends")}
		if chance(t, "finalizer", 2) {
			p.Finalizers = []string{"example.com/x"}
		}
	}
	if chance(t, "volume", 2) {
		addVolume(t, v, p)
	}
	v.Node.Pods = append(v.Node.Pods, &snapshot.Pod{Pod: p})
}

func addVolume(t *rapid.T, v *drain.View, p *corev1.Pod) {
	pv, claim := "pv-"+p.Name, types.NamespacedName{Namespace: "default", Name: "data-" + p.Name}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
	v.Volumes.Claims[claim] = &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: pv}}
	spec := corev1.PersistentVolumeSpec{}
	spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: pv}
	v.Volumes.Volumes[pv] = &corev1.PersistentVolume{Spec: spec}
	if v.Cloud != nil && chance(t, "in cloud", 2) {
		v.Cloud.Attached = append(v.Cloud.Attached, drain.CloudAttachment{Driver: "ebs.csi.aws.com", Handle: pv, State: "busy"})
	}
	if chance(t, "no attachment", 3) {
		return
	}
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + p.Name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	a.Spec.Attacher, a.Spec.Source.PersistentVolumeName = "ebs.csi.aws.com", &pv
	a.Status.Attached = chance(t, "attached", 2)
	if chance(t, "detaching", 3) {
		a.DeletionTimestamp = &metav1.Time{Time: near(t, "detaching since")}
	}
	v.Attachments = append(v.Attachments, a)
}

func anyBudgets(t *rapid.T) []*policyv1.PodDisruptionBudget {
	var out []*policyv1.PodDisruptionBudget
	for i := range rapid.IntRange(0, 2).Draw(t, "budgets") {
		pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: strconv.Itoa(i)}}
		pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "guards")}}
		pdb.Status.DisruptionsAllowed = int32(rapid.IntRange(0, 1).Draw(t, "allowed"))
		out = append(out, pdb)
	}
	return out
}

// endsByItself are the waits that need nobody to do anything.
var endsByItself = []plan.Code{
	plan.EvictionPending, plan.EvictionPaced, plan.LaterWave, plan.PodTerminating, plan.PodLost,
	plan.CloudSilent, plan.VolumeInUse, plan.VolumeMounted, plan.VolumeUnmounted, plan.VolumeAttaching, plan.VolumeDetaching, plan.VolumeReleasing, plan.VolumeUnreachable,
}

func TestWhateverTheNodeLooksLikeAStepKeepsItsPromises(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		v := anyView(t)
		s := drain.Next(v)
		if again := drain.Next(v).String(); again != s.String() {
			t.Fatalf("two answers:\n%s\n%s", s, again)
		}
		if !s.Wake.IsZero() && s.Wake.Before(v.Now) {
			t.Errorf("wakes in the past:\n%s", s)
		}
		for _, problem := range slices.Concat(leaves(v, s), ends(v, s), hooked(v, s)) {
			t.Errorf("%s:\n%s", problem, s)
		}
		for _, x := range slices.Concat(s.Hooks, s.Pods, s.Volumes) {
			if x.Waits && x.Remedy() == "" && !slices.Contains(endsByItself, x.Code) && x.Until.IsZero() {
				t.Errorf("nothing is said about the end of %s:\n%s", x, s)
			}
		}
	})
}

// hooked finds fault with a step that waits for hooks, or does not.
func hooked(v drain.View, s drain.Step) []string {
	var out []string
	waits := s.Phase == drain.PreDrain || s.Phase == drain.PreTerminate
	if waits && len(s.Evict)+len(s.Delete) > 0 {
		out = append(out, "sends pods away while it waits for hooks")
	}
	for _, end := range []time.Time{v.Deadline, v.Ends} {
		if s.Phase == drain.PreDrain && !end.IsZero() && !v.Now.Before(end.Add(-time.Minute)) || waits && !end.IsZero() && !v.Now.Before(end) {
			out = append(out, "waits for hooks although the machine has no time")
		}
	}
	if waits != slices.ContainsFunc(s.Hooks, func(x drain.Verdict) bool { return x.Waits }) {
		out = append(out, "does not go by its hooks")
	}
	return out
}

// leaves finds fault with the pods that a step sends away.
func leaves(v drain.View, s drain.Step) []string {
	var out []string
	var critical []bool
	for _, p := range s.Evict {
		_, protected := eviction.Protected(p, v.Now)
		if len(v.Budgets.Blocking(p)) > 0 || protected || eviction.Stays(p) || eviction.Mirror(p) || p.Spec.Containers != nil || eviction.Terminating(p) {
			out = append(out, "evicts "+p.Name)
		}
		critical = append(critical, eviction.Critical(p))
	}
	if slices.Contains(critical, true) && slices.Contains(critical, false) {
		out = append(out, "evicts two waves at once")
	}
	for _, d := range s.Delete {
		grace := time.Duration(*d.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
		soon := v.Now.Add(grace).After(v.Deadline) || !v.Now.Add(grace).Before(v.Deadline) || eviction.Terminating(d.Pod) && d.Pod.DeletionTimestamp.After(v.Deadline)
		if v.Deadline.IsZero() || !soon || d.Grace <= 0 || eviction.Stays(d.Pod) {
			out = append(out, "deletes "+d.Pod.Name)
		}
	}
	return out
}

// ends finds fault with a step that ends the machine, or lets go of it.
func ends(v drain.View, s drain.Step) []string {
	var out []string
	running := v.Machine == drain.Exists
	if s.Phase == drain.Release && running || s.Phase == drain.Finish && v.Machine != drain.Gone {
		out = append(out, fmt.Sprintf("%s of a machine that exists", s.Phase))
	}
	if s.Phase != drain.Terminate && s.Phase != drain.Finish {
		return out
	}
	for _, x := range slices.Concat(s.Pods, s.Volumes) {
		if x.Waits {
			out = append(out, "does not wait for "+x.String())
		}
	}
	late := !v.Deadline.IsZero() && !v.Now.Before(v.Deadline)
	silent := !snapshot.Ready(v.Node.Object)
	held := func(x drain.Verdict) bool {
		return x.Want == string(plan.VolumeHeld) || x.Want == string(plan.VolumeAttaching)
	}
	if running && !late && !silent && !v.Policy.TerminateStuck && slices.ContainsFunc(s.LeftBehind, func(x drain.Verdict) bool { return !held(x) }) {
		out = append(out, "leaves volumes behind without a reason")
	}
	if running && !late && v.Cloud != nil {
		for _, a := range v.Cloud.Attached {
			named := func(x drain.Verdict) bool {
				return slices.ContainsFunc(x.Objects, func(o plan.ObjectRef) bool { return o.Name == a.Handle })
			}
			if v.Cloud.Silent == "" && !slices.ContainsFunc(s.Volumes, named) {
				out = append(out, "is silent about "+a.Handle+", which the cloud has attached")
			}
		}
	}
	for _, a := range v.Attachments {
		ignored := slices.ContainsFunc(s.Volumes, func(x drain.Verdict) bool {
			return x.Objects[0].Name == a.Name && x.Code == plan.VolumeIgnored
		})
		known := slices.ContainsFunc(s.LeftBehind, func(x drain.Verdict) bool { return x.Objects[0].Name == a.Name })
		if !ignored && !known {
			out = append(out, "is silent about "+a.Name)
		}
	}
	return out
}
