package termination_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/termination"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// A drainWorld is a machine with a database on a volume, a web server, a volume
// driver's plugin without the toleration and a daemon, together with what
// Kubernetes and the driver do about them. It checks every write of the process.
type drainWorld struct {
	*rig
	// log is what became of pods and volumes, each once.
	log []string
	// stopped is set for a machine that was stopped behind our back.
	stopped bool
	// books are the cloud's, if it can tell what is attached: it lets go of the volume
	// some rounds after Kubernetes.
	books *lister
	late  int
	// hooked is set if the policy has hooks: what a pod and the machine wait for.
	hooked bool
}

const (
	webGrace   = 30 * time.Second
	drainGrace = 2 * time.Minute
)

func newDrainWorld(t *testing.T, deadline bool) *drainWorld {
	w := &drainWorld{rig: newRig(t, func(c *karpv1.NodeClaim) {
		if deadline {
			c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: drainGrace}
		}
	})}
	w.Must(w.Rig.Client.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "n"}}}}))
	w.Must(w.Rig.Client.Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data-db"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"}},
	}}))
	w.Must(w.Rig.Client.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-db"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "data"}}))
	w.pod("db", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db"}}}}
	})
	w.pod("web", nil)
	w.pod("logs", daemon("logs"))
	w.pod("plugin", func(p *corev1.Pod) {
		daemon("plugin")(p)
		p.Spec.Volumes = []corev1.Volume{{Name: "registration", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins_registry"}}}}
	})
	w.attach("data")
	n := w.node()
	n.Status.VolumesInUse = []corev1.UniqueVolumeName{"kubernetes.io/csi/ebs.csi.aws.com^vol-1"}
	w.Must(w.Rig.Client.Status().Update(ctx, n))
	w.watch()
	return w
}

func daemon(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: name, UID: "uid-ds"}}
	}
}

func (w *drainWorld) guardWeb() {
	none := intstr.FromInt32(0)
	w.Must(w.Rig.Client.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}))
}

// tells makes the cloud one that can tell what is attached.
func (w *drainWorld) tells() {
	w.books = &lister{Cloud: w.Cloud, attached: []cloud.Attachment{{Driver: "ebs.csi.aws.com", Handle: "vol-1", State: "attached"}}}
	w.late = 3
	w.Deps.Provider = w.books
}

// watch checks what the process is about to write.
func (w *drainWorld) watch() {
	if w.books != nil {
		w.Deps.Provider = w.books
	}
	w.API.Before = func(verb string, o client.Object) error {
		pod, ofPod := o.(*corev1.Pod)
		switch {
		case ofPod && verb == "delete" && w.Rig.Clock.Now().Before(w.deadline().Add(-webGrace)):
			w.t.Errorf("pod %s is deleted without asking its budgets before its time", pod.Name)
		case ofPod && pod.Name == "plugin":
			w.t.Errorf("%s of the volume driver's plugin", verb)
		case ofPod && verb == "evict" && !w.handedOver():
			w.t.Errorf("pod %s is evicted before the hook has passed", pod.Name)
		case ofPod && verb != "patch status":
			w.note(verb + " " + pod.Name)
		}
		return nil
	}
	w.Cloud.Terminated = func(*looptest.Machine) {
		late := !w.deadline().IsZero() && !w.Rig.Clock.Now().Before(w.deadline())
		if !w.backedUp() {
			w.t.Error("the machine is ended before the hook has passed")
		}
		if left := slices.DeleteFunc(w.pods(), func(name string) bool { return name == "plugin" }); len(left) > 0 && !late {
			w.t.Errorf("the machine is ended while %v are on it", left)
		}
		if (w.attached() != nil || w.books != nil && len(w.books.attached) > 0) && !late {
			w.t.Error("the machine is ended while a volume is attached")
		}
	}
}

func (w *drainWorld) note(what string) {
	if !slices.Contains(w.log, what) {
		w.log = append(w.log, what)
	}
}

func (w *drainWorld) deadline() time.Time {
	c := w.claim()
	if c == nil || c.Spec.TerminationGracePeriod == nil || c.DeletionTimestamp == nil {
		return time.Time{}
	}
	return c.DeletionTimestamp.Add(c.Spec.TerminationGracePeriod.Duration)
}

func (w *drainWorld) attached() *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-data"}}
	if !w.Get(a) {
		return nil
	}
	return a
}

// round lets two seconds pass: Kubernetes first, then the process, which is
// restarted if it was cut off.
func (w *drainWorld) round() {
	w.kubernetes()
	w.Sync()
	_, one := termination.New(w.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "n"}})
	_, two := lifecycle.New(w.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: "c"}})
	if w.API.Cut() {
		w.Restart()
		w.watch()
	} else {
		w.Must(errors.Join(one, two))
	}
	if n := w.node(); n != nil && w.outOfService() && w.Cloud.Find(n.Spec.ProviderID) != nil && !w.stopped {
		w.t.Error("a machine that may run is marked out of service")
	}
	w.Cloud.Step()
	w.Rig.Clock.Step(2 * time.Second)
}

// kubernetes is the kubelet, which unmounts the volume of a pod that is gone, the
// attach-detach controller and the driver, which then detach it, one step a round;
// and for a Node that is out of service they do so without the kubelet.
func (w *drainWorld) kubernetes() {
	n := w.node()
	w.serveHooks()
	if n != nil && w.Cloud.Find(n.Spec.ProviderID) == nil && n.Status.Conditions[0].Status == corev1.ConditionTrue {
		w.silence()
	}
	a := w.attached()
	out := n == nil || w.outOfService()
	switch {
	case out:
		for _, name := range w.pods() {
			w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		}
	case a == nil:
		if w.late--; w.late == 0 {
			w.books.attached = nil
		}
		return
	case slices.Contains(w.pods(), "db"):
		return
	case !slices.Contains(w.pods(), "plugin"):
		w.t.Fatal("the plugin has gone before the volume")
	case len(n.Status.VolumesInUse) > 0:
		n.Status.VolumesInUse = nil
		w.Must(w.Rig.Client.Status().Update(ctx, n))
		return
	}
	switch {
	case a == nil:
	case a.DeletionTimestamp == nil:
		a.Finalizers = []string{"external-attacher/ebs-csi-aws-com"}
		w.Must(w.Rig.Client.Update(ctx, a))
		w.Must(w.Rig.Client.Delete(ctx, a))
	default:
		a.Finalizers = nil
		w.Must(w.Rig.Client.Update(ctx, a))
		w.note("detached")
	}
}

// gone lets time pass until nothing is left but what Kubernetes cleans up.
func (w *drainWorld) gone() {
	w.t.Helper()
	for range 200 {
		if w.node() == nil && w.claim() == nil {
			break
		}
		w.round()
	}
	for range 3 {
		w.kubernetes()
	}
	if w.node() != nil || w.claim() != nil || w.attached() != nil || len(w.Cloud.Alive()) != 0 {
		w.t.Fatalf("node %v, claim %v, attachment %v, machines %d", w.node() != nil, w.claim() != nil, w.attached() != nil, len(w.Cloud.Alive()))
	}
}

// everyCut tells a story once in peace, and then again for every write that the
// process makes, with the process killed before that write and killed after it; without -full for a quarter
// of them.
// The end must be the same each time, and so must be what became of the pods.
func everyCut(t *testing.T, deadline bool, begin func(*drainWorld)) {
	tell := func(t *testing.T, cut func(*drainWorld)) *drainWorld {
		w := newDrainWorld(t, deadline)
		begin(w)
		if c := w.claim(); c != nil && c.DeletionTimestamp != nil { // the fake API server stamps with the real time
			w.Rig.Clock.SetTime(c.DeletionTimestamp.Time)
		}
		cut(w)
		w.gone()
		slices.Sort(w.log)
		return w
	}
	peace := tell(t, func(w *drainWorld) { w.API.Writes = 0 })
	writes := peace.API.Writes
	if writes < 6 {
		t.Fatalf("the story makes %d writes; it shows nothing", writes)
	}
	for at := 1; at <= writes; at++ {
		for i, late := range []bool{false, true} {
			if !property.Some(at + 2*i) {
				continue
			}
			t.Run(fmt.Sprintf("write %d of %d late %v", at, writes, late), func(t *testing.T) {
				w := tell(t, func(w *drainWorld) { w.API.Writes, w.API.CutAt, w.API.Late = 0, at, late })
				if !slices.Equal(w.log, peace.log) {
					t.Errorf("it went\n%v\nand in peace\n%v", w.log, peace.log)
				}
			})
		}
	}
}

func TestADrainThatIsKilledAtAnyWriteEndsTheSame(t *testing.T) {
	for name, test := range map[string]struct {
		deadline bool
		begin    func(*drainWorld)
	}{
		"the claim is deleted": {false, func(w *drainWorld) { w.Must(w.Rig.Client.Delete(ctx, w.claim())) }},
		"the claim is deleted, and the cloud lets go late": {false, func(w *drainWorld) {
			w.tells()
			w.Must(w.Rig.Client.Delete(ctx, w.claim()))
		}},
		"the Node is deleted": {false, func(w *drainWorld) { w.Must(w.Rig.Client.Delete(ctx, w.node())) }},
		"the Node is deleted and has no claim": {false, func(w *drainWorld) {
			c := w.claim()
			c.Finalizers = nil
			w.Must(w.Rig.Client.Update(ctx, c))
			w.Delete(c)
			w.Must(w.Rig.Client.Delete(ctx, w.node()))
		}},
		"the claim is deleted, and hooks are waited for": {false, func(w *drainWorld) {
			w.hook()
			w.Must(w.Rig.Client.Delete(ctx, w.claim()))
		}},
		"a budget that allows nothing, and a deadline": {true, func(w *drainWorld) {
			w.guardWeb()
			w.Must(w.Rig.Client.Delete(ctx, w.claim()))
		}},
		"the machine dies": {false, func(w *drainWorld) {
			w.Cloud.Ledger[0].Gone = true
			w.Must(w.Rig.Client.Delete(ctx, w.node()))
		}},
		"the machine is stopped": {false, func(w *drainWorld) {
			w.Cloud.Ledger[0].State, w.stopped = cloud.Stopped, true
			w.silence()
			w.Must(w.Rig.Client.Delete(ctx, w.claim()))
		}},
	} {
		t.Run(name, func(t *testing.T) { everyCut(t, test.deadline, test.begin) })
	}
}
