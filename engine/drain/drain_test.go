package drain_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return newWorld().do })
}

// world is one node and what is on it. The commands are the methods' names.
type world struct {
	view drain.View
	pdbs []*policyv1.PodDisruptionBudget
}

func newWorld() *world {
	w := &world{}
	w.view.Now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	w.view.Node = &snapshot.Node{Name: "n", Object: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}}
	w.view.Volumes.Claims = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}
	return w
}

func (w *world) do(t *testing.T, c storytest.Command) string {
	switch c.Name {
	case "node":
		w.node(c)
	case "pod":
		w.pod(t, c)
	case "pdb":
		w.pdb(t, c)
	case "volume":
		w.volume(c)
	case "deadline":
		w.view.Deadline = w.view.Now.Add(duration(t, c.Args[0]))
	case "after":
		w.view.Now = w.view.Now.Add(duration(t, c.Args[0]))
	case "machine-gone":
		w.view.InstanceGone = true
	case "next":
		return w.next()
	default:
		t.Fatalf("unknown command %s", c.Name)
	}
	return ""
}

// next carries out what a controller would on the node and the claim.
func (w *world) next() string {
	w.view.Budgets = eviction.NewBudgets(w.pdbs)
	step := drain.Next(w.view)
	if step.Phase == drain.Cordon {
		drain.ApplyCordon(w.view.Node.Object)
	}
	if c := w.view.Node.Claim; c != nil {
		for _, n := range step.Conditions {
			since := c.Conditions[n.Type].Since
			if c.Conditions[n.Type].Status != n.Status {
				since = w.view.Now
			}
			c.Conditions[n.Type] = snapshot.Condition{Status: n.Status, Reason: n.Reason, Message: n.Message, Since: since}
		}
	}
	return step.String()
}

func (w *world) node(c storytest.Command) {
	if c.Has("claim") {
		w.view.Node.Claim = &snapshot.Claim{Name: "c", Conditions: map[string]snapshot.Condition{}}
	}
	if c.Has("cordoned") {
		drain.ApplyCordon(w.view.Node.Object)
	}
	if c.Has("tainted") {
		w.view.Node.Object.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoExecute}}
	}
	if c.Has("not-ready") {
		w.view.Node.Object.Status.Conditions = nil
	}
}

func (w *world) pod(t *testing.T, c storytest.Command) {
	ns, name, _ := strings.Cut(c.Args[0], "/")
	pods := slices.DeleteFunc(w.view.Node.Pods, func(p *snapshot.Pod) bool { return p.Namespace == ns && p.Name == name })
	w.view.Node.Pods = pods
	if c.Has("gone") {
		return
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": c.Options["app"]}, Annotations: map[string]string{}}}
	p.Status.Phase = corev1.PodRunning
	p.Spec.PriorityClassName = c.Options["priority"]
	for option, set := range map[string]func(string){
		"phase":          func(v string) { p.Status.Phase = corev1.PodPhase(v) },
		"grace":          func(v string) { s := int64(duration(t, v).Seconds()); p.Spec.TerminationGracePeriodSeconds = &s },
		"do-not-disrupt": func(v string) { p.Annotations[eviction.DoNotDisruptAnnotation] = v },
		"started":        func(v string) { p.Status.StartTime = &metav1.Time{Time: w.view.Now.Add(duration(t, v))} },
		"ends":           func(v string) { p.DeletionTimestamp = &metav1.Time{Time: w.view.Now.Add(duration(t, v))} },
		"daemon":         func(string) { own(p, "apps/v1", "DaemonSet") },
		"mirror":         func(string) { own(p, "v1", "Node") },
		"ready": func(v string) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(v)}}
		},
		"tolerates": func(v string) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: v, Operator: corev1.TolerationOpExists}}
		},
		"claims": func(v string) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v}}}}
		},
		"ephemeral": func(v string) {
			p.Spec.Volumes = []corev1.Volume{{Name: v, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		},
	} {
		if c.Has(option) {
			set(c.Options[option])
		}
	}
	w.view.Node.Pods = append(w.view.Node.Pods, &snapshot.Pod{Pod: p})
	slices.SortFunc(w.view.Node.Pods, func(a, b *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func own(p *corev1.Pod, apiVersion, kind string) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner"}}
}

func (w *world) pdb(t *testing.T, c storytest.Command) {
	ns, name, _ := strings.Cut(c.Args[0], "/")
	w.pdbs = slices.DeleteFunc(w.pdbs, func(p *policyv1.PodDisruptionBudget) bool { return p.Namespace == ns && p.Name == name })
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.Options["app"]}}
	pdb.Status.DisruptionsAllowed = number(t, c.Options["allowed"])
	if healthy := c.Options["healthy"]; healthy != "" {
		have, want, _ := strings.Cut(healthy, "/")
		pdb.Status.CurrentHealthy, pdb.Status.DesiredHealthy = number(t, have), number(t, want)
	}
	if c.Has("always-allow") {
		policy := policyv1.AlwaysAllow
		pdb.Spec.UnhealthyPodEvictionPolicy = &policy
	}
	if c.Has("bad-selector") {
		pdb.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	}
	w.pdbs = append(w.pdbs, pdb)
}

// volume NAME [claim=NS/NAME] attaches PV NAME; "volume NAME gone" detaches it.
func (w *world) volume(c storytest.Command) {
	name := c.Args[0]
	w.view.Attachments = slices.DeleteFunc(w.view.Attachments, func(a *storagev1.VolumeAttachment) bool { return a.Name == "csi-"+name })
	if c.Has("gone") {
		return
	}
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + name, CreationTimestamp: metav1.NewTime(w.view.Now)}}
	a.Spec.NodeName = "n"
	if !c.Has("inline") {
		a.Spec.Source.PersistentVolumeName = &name
	}
	if claim := c.Options["claim"]; claim != "" {
		ns, n, _ := strings.Cut(claim, "/")
		w.view.Volumes.Claims[types.NamespacedName{Namespace: ns, Name: n}] = &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}}
	}
	w.view.Attachments = append(w.view.Attachments, a)
	slices.SortFunc(w.view.Attachments, func(a, b *storagev1.VolumeAttachment) int { return cmp.Compare(a.Name, b.Name) })
}

func duration(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, s string) int32 {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(fmt.Errorf("reading %q: %w", s, err))
	}
	return int32(n)
}
