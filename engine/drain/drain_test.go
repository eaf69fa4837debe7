package drain_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/drain"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/eviction"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World { return newWorld().do })
}

// answered has the API server answer for pods a millisecond ago, or more.
func (w *world) answered(pods []string, words string) {
	w.view.Answers = map[types.UID]drain.Answer{}
	for _, p := range w.view.Node.Pods {
		if i := slices.Index(pods, p.Name); i >= 0 {
			p.UID = types.UID(p.Name)
			w.view.Answers[p.UID] = drain.Answer{Words: words, At: w.view.Now.Add(time.Duration(i-len(pods)) * time.Millisecond)}
		}
	}
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
	w.view.Volumes.Volumes = map[string]*corev1.PersistentVolume{}
	w.view.Volumes.CSINodes = map[string]*storagev1.CSINode{}
	w.view.Waiting = map[types.NamespacedName]*corev1.Pod{}
	return w
}

func (w *world) do(t *testing.T, c storytest.Command) string {
	switch c.Name {
	case "node":
		w.node(t, c)
	case "other":
		w.other(c)
	case "pod":
		w.pod(t, c)
	case "pdb":
		w.pdb(t, c)
	case "volume":
		w.volume(c)
	case "deadline":
		w.view.Deadline = w.view.Now.Add(storytest.Duration(t, c.Args[0]))
	case "ends":
		w.view.Ends = w.view.Now.Add(storytest.Duration(t, c.Args[0]))
	case "hook":
		w.hook(t, c)
	case "job":
		w.job(c)
	case "annotate":
		metav1.SetMetaDataAnnotation(&w.view.Node.Object.ObjectMeta, c.Args[0], c.Args[1])
	case "ignores":
		w.view.Node.Claim.Annotations = map[string]string{drain.IgnoresAnnotation: c.Args[0]}
	case "condition":
		w.condition(c)
	case "after":
		w.view.Now = w.view.Now.Add(storytest.Duration(t, c.Args[0]))
	case "refused":
		w.answered(c.Args, "admission webhook x denied the request")
	case "agreed":
		w.answered(c.Args, "")
	case "machine":
		w.view.Machine = drain.Machine(c.Args[0])
	case "csi":
		w.csi(c)
	case "driver":
		attach := !c.Has("no-attach")
		w.view.Volumes.Drivers = map[string]*storagev1.CSIDriver{c.Args[0]: {Spec: storagev1.CSIDriverSpec{AttachRequired: &attach}}}
	case "cloud":
		w.cloud(c)
	case "daemonset":
		ns, name, _ := strings.Cut(c.Args[0], "/")
		w.view.DaemonSets = append(w.view.DaemonSets, &snapshot.DaemonSet{DaemonSet: &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": c.Options["app"]}}}})
	case "policy":
		w.policy(t, c)
	case "silent":
		w.view.Node.Object.Status.Conditions = nil
	case "waits":
		ns, name, _ := strings.Cut(c.Args[0], "/")
		w.view.Waiting[ref(c.Options["claim"])] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
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
		for _, n := range append(w.view.Others, w.view.Node) {
			drain.ApplyCordon(n.Object)
		}
	}
	if step.Phase == drain.Release {
		drain.MarkOutOfService(w.view.Node.Object, w.view.Now)
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

func (w *world) node(t *testing.T, c storytest.Command) {
	if c.Has("claim") {
		w.view.Node.Claim = &snapshot.Claim{Name: "c", Conditions: map[string]snapshot.Condition{}}
	}
	if ago := c.Options["marked"]; ago != "" {
		w.view.Node.Claim.Conditions[snapshot.DisruptionReason] = snapshot.Condition{Status: corev1.ConditionTrue, Since: w.view.Now.Add(-storytest.Duration(t, ago))}
	}
	if c.Has("cordoned") {
		drain.ApplyCordon(w.view.Node.Object)
	}
	if c.Has("tainted") {
		w.view.Node.Object.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoExecute}}
	}
	if c.Has("deleted") {
		w.view.Node.Object.DeletionTimestamp = &metav1.Time{Time: w.view.Now}
	}
	if c.Has("not-ready") {
		w.view.Node.Object.Status.Conditions = nil
	}
	if reason := c.Options["network"]; reason != "" {
		w.view.Node.Object.Status.Conditions = append(w.view.Node.Object.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: reason})
	}
	if key := c.Options["startup-taint"]; key != "" {
		w.view.Node.Claim.StartupTaints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoExecute}}
	}
}

// other is a further Node of the instance.
func (w *world) other(c storytest.Command) {
	n := &snapshot.Node{Name: c.Args[0], Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Args[0]}}}
	if !c.Has("not-ready") {
		n.Object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	w.view.Others = append(w.view.Others, n)
}

func (w *world) pod(t *testing.T, c storytest.Command) {
	ns, name, _ := strings.Cut(c.Args[0], "/")
	node := w.view.Node
	if i := slices.IndexFunc(w.view.Others, func(n *snapshot.Node) bool { return n.Name == c.Options["on"] }); i >= 0 {
		node = w.view.Others[i]
	}
	node.Pods = slices.DeleteFunc(node.Pods, func(p *snapshot.Pod) bool { return p.Namespace == ns && p.Name == name })
	if c.Has("gone") {
		return
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": c.Options["app"]}, Annotations: map[string]string{}}}
	p.Status.Phase = corev1.PodRunning
	p.CreationTimestamp = metav1.NewTime(w.view.Now)
	p.Spec.PriorityClassName = c.Options["priority"]
	for option, set := range map[string]func(string){
		"phase": func(v string) { p.Status.Phase = corev1.PodPhase(v) },
		"grace": func(v string) {
			s := int64(storytest.Duration(t, v).Seconds())
			p.Spec.TerminationGracePeriodSeconds = &s
		},
		"do-not-disrupt": func(v string) { p.Annotations[eviction.DoNotDisruptAnnotation] = v },
		"started":        func(v string) { p.Status.StartTime = &metav1.Time{Time: w.view.Now.Add(storytest.Duration(t, v))} },
		"ends":           func(v string) { p.DeletionTimestamp = &metav1.Time{Time: w.view.Now.Add(storytest.Duration(t, v))} },
		"value":          func(v string) { n := int32(storytest.Number(t, v)); p.Spec.Priority = &n },
		"cost":           func(v string) { p.Annotations["controller.kubernetes.io/pod-deletion-cost"] = v },
		"daemon":         func(v string) { own(p, "apps/v1", "DaemonSet", v) },
		"mirror":         func(string) { own(p, "v1", "Node", "") },
		"finalizer":      func(v string) { p.Finalizers = []string{v} },
		"host-network":   func(string) { p.Spec.HostNetwork = true },
		"host-path":      func(v string) { hostPath(p, v) },
		"plugin":         func(v string) { plugin(p, v) },
		"inline-ebs": func(v string) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: v}}}}
		},
		"tolerates-all": func(string) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
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
	node.Pods = append(node.Pods, &snapshot.Pod{Pod: p})
	slices.SortFunc(node.Pods, func(a, b *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func own(p *corev1.Pod, apiVersion, kind, name string) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: cmp.Or(name, "owner")}}
}

func hostPath(p *corev1.Pod, path string) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}})
}

// plugin makes a pod the node plugin of a driver, as drivers' charts do; without a
// name it does not say of which.
func plugin(p *corev1.Pod, driver string) {
	hostPath(p, "/var/lib/kubelet/plugins_registry/")
	if driver == "" {
		return
	}
	p.Spec.Containers = []corev1.Container{{Name: "node-driver-registrar", Env: []corev1.EnvVar{
		{Name: "DRIVER_REG_SOCK_PATH", Value: "/var/lib/kubelet/plugins/" + driver + "/csi.sock"},
	}}}
}

// csi DRIVER... registers drivers with the kubelet, and forgets those before.
func (w *world) csi(c storytest.Command) {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, name := range c.Args {
		node.Spec.Drivers = append(node.Spec.Drivers, storagev1.CSINodeDriver{Name: name})
	}
	w.view.Volumes.CSINodes["n"] = node
}

func (w *world) policy(t *testing.T, c storytest.Command) {
	p := &w.view.Policy
	p.TerminateStuck, p.NoOutOfService = c.Has("terminate-stuck"), c.Has("no-out-of-service")
	for option, field := range map[string]*time.Duration{
		"unmount": &p.UnmountTimeout, "detach": &p.DetachTimeout, "release": &p.ReleaseTimeout,
	} {
		if c.Has(option) {
			*field = storytest.Duration(t, c.Options[option])
		}
	}
	if app := c.Options["agents"]; app != "" {
		p.Agents = []snapshot.DaemonSetSelector{{Namespace: c.Options["namespace"], Labels: labels.SelectorFromSet(labels.Set{"app": app})}}
	}
	if c.Has("parallel") {
		p.MaxParallelEvictions = storytest.Number(t, c.Options["parallel"])
	}
}

// cloud VOLUME STATE is what the cloud says of a volume of the EBS driver; "cloud
// VOLUME gone" takes it back, "cloud silent=TEXT" says why it says nothing, and
// "cloud answers" that it does.
func (w *world) cloud(c storytest.Command) {
	if w.view.Cloud == nil {
		w.view.Cloud = &drain.CloudVolumes{}
	}
	if w.view.Cloud.Silent = c.Options["silent"]; len(c.Args) == 0 || c.Has("answers") {
		return
	}
	handle := "vol-" + c.Args[0]
	list := slices.DeleteFunc(w.view.Cloud.Attached, func(a drain.CloudAttachment) bool { return a.Handle == handle })
	if !c.Has("gone") {
		list = append(list, drain.CloudAttachment{Driver: "ebs.csi.aws.com", Handle: handle, State: c.Args[1]})
	}
	w.view.Cloud.Attached = list
}

func ref(name string) types.NamespacedName {
	ns, n, _ := strings.Cut(name, "/")
	return types.NamespacedName{Namespace: ns, Name: n}
}

func (w *world) pdb(t *testing.T, c storytest.Command) {
	ns, name, _ := strings.Cut(c.Args[0], "/")
	w.pdbs = slices.DeleteFunc(w.pdbs, func(p *policyv1.PodDisruptionBudget) bool { return p.Namespace == ns && p.Name == name })
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": c.Options["app"]}}
	pdb.Status.DisruptionsAllowed = int32(storytest.Number(t, c.Options["allowed"]))
	if healthy := c.Options["healthy"]; healthy != "" {
		have, want, _ := strings.Cut(healthy, "/")
		pdb.Status.CurrentHealthy, pdb.Status.DesiredHealthy = int32(storytest.Number(t, have)), int32(storytest.Number(t, want))
		pdb.Status.ExpectedPods = pdb.Status.DesiredHealthy + 1
	}
	if pods := c.Options["pods"]; pods != "" {
		pdb.Status.ExpectedPods = int32(storytest.Number(t, pods))
	}
	if c.Has("changed") {
		pdb.Generation = 1
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

// volume NAME [claim=NS/NAME] [mounted] [attaching] [detaching] [error=TEXT] [no-pv] attaches
// PV NAME or changes how it stands; "volume NAME gone" detaches it.
func (w *world) volume(c storytest.Command) {
	name := c.Args[0]
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-" + name, CreationTimestamp: metav1.NewTime(w.view.Now)}}
	for _, old := range w.view.Attachments {
		if old.Name == a.Name {
			a = old
		}
	}
	w.view.Attachments = slices.DeleteFunc(w.view.Attachments, func(x *storagev1.VolumeAttachment) bool { return x.Name == a.Name })
	status, unique := &w.view.Node.Object.Status, corev1.UniqueVolumeName("kubernetes.io/csi/ebs.csi.aws.com^vol-"+name)
	for _, o := range w.view.Others {
		if o.Name == c.Options["on"] {
			status = &o.Object.Status
		}
	}
	status.VolumesInUse = slices.DeleteFunc(status.VolumesInUse, func(n corev1.UniqueVolumeName) bool { return n == unique })
	status.VolumesAttached = slices.DeleteFunc(status.VolumesAttached, func(v corev1.AttachedVolume) bool { return v.Name == unique })
	if c.Has("still-mounted") {
		status.VolumesInUse = append(status.VolumesInUse, unique)
	}
	if c.Has("still-attached") {
		status.VolumesAttached = append(status.VolumesAttached, corev1.AttachedVolume{Name: unique})
	}
	if c.Has("gone") {
		return
	}
	if c.Has("mounted") {
		status.VolumesInUse = append(status.VolumesInUse, unique)
	}
	a.Spec.NodeName, a.Spec.Attacher = cmp.Or(c.Options["on"], "n"), "ebs.csi.aws.com"
	spec := corev1.PersistentVolumeSpec{}
	spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}
	if c.Has("inline") {
		a.Spec.Source.InlineVolumeSpec = &spec
	} else {
		a.Spec.Source.PersistentVolumeName = &name
	}
	if claim := c.Options["claim"]; claim != "" {
		key := ref(claim)
		w.view.Volumes.Claims[key] = &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}}
		spec.ClaimRef = &corev1.ObjectReference{Namespace: key.Namespace, Name: key.Name}
	}
	if w.view.Volumes.Volumes[name] == nil && !c.Has("inline") {
		w.view.Volumes.Volumes[name] = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	if c.Has("no-pv") {
		delete(w.view.Volumes.Volumes, name)
	}
	if c.Has("detaching") && a.DeletionTimestamp == nil {
		a.DeletionTimestamp = &metav1.Time{Time: w.view.Now}
	}
	a.Status.Attached = !c.Has("attaching")
	if text := c.Options["error"]; text != "" {
		a.Status.AttachError, a.Status.DetachError = &storagev1.VolumeError{Message: text}, &storagev1.VolumeError{Message: text}
	}
	w.view.Attachments = append(w.view.Attachments, a)
	slices.SortFunc(w.view.Attachments, func(a, b *storagev1.VolumeAttachment) int { return cmp.Compare(a.Name, b.Name) })
}
