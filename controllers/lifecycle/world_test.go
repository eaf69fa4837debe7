package lifecycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/gc"
	"github.com/millwright-dev/millwright/controllers/lifecycle"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/termination"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
	"github.com/millwright-dev/millwright/engine/requirement"
)

var ctx = context.Background()

// world is a process with its loops, a cloud, kubelets, an agent that removes the
// startup taint and a driver that detaches volumes.
type world struct {
	*looptest.Rig
	t      *testing.T
	rounds int
	// emptied is when each node lost its last pod; the driver detaches volumes
	// detachTime after it.
	emptied map[string]time.Time
	// noGC keeps the collector from mending what others forgot.
	noGC bool
}

const detachTime = 8 * time.Second

func newWorld(t *testing.T, objects ...client.Object) *world {
	w := &world{Rig: looptest.New(t, objects...), t: t, emptied: map[string]time.Time{}}
	w.Offered = []*catalog.Type{{
		Name:         "m",
		Requirements: requirement.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: "m", corev1.LabelArchStable: "amd64"}),
		Capacity:     corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("10")},
		Offerings:    []catalog.Offering{{Zone: "a", CapacityType: catalog.Spot, Price: 1, Available: true}},
	}}
	w.Cloud.Terminated = w.checkEmpty
	return w
}

// checkEmpty is told of every machine that is about to be stopped.
func (w *world) checkEmpty(m *looptest.Machine) {
	for _, n := range w.nodes() {
		if n.Spec.ProviderID != m.ProviderID {
			continue
		}
		for _, p := range w.pods(n.Name) {
			w.t.Errorf("machine %s is stopped while pod %s runs on it", m.ProviderID, p.Name)
		}
		var attachments storagev1.VolumeAttachmentList
		w.Must(w.Rig.Client.List(ctx, &attachments))
		for _, a := range attachments.Items {
			if a.Spec.NodeName == n.Name {
				w.t.Errorf("machine %s is stopped while %s is attached", m.ProviderID, a.Name)
			}
		}
	}
}

func (w *world) nodes() []corev1.Node {
	var list corev1.NodeList
	w.Must(w.Rig.Client.List(ctx, &list))
	return list.Items
}

func (w *world) pods(node string) []corev1.Pod {
	var list corev1.PodList
	w.Must(w.Rig.Client.List(ctx, &list, client.MatchingFields{"spec.nodeName": node}))
	return list.Items
}

// until lets time pass, two seconds a round, until something holds; a process that
// is cut off is restarted.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for range 300 {
		if holds() {
			return
		}
		w.round()
	}
	var state []string
	for _, c := range w.Claims() {
		state = append(state, fmt.Sprintf("claim %s deleted=%v %+v", c.Name, c.DeletionTimestamp, c.Status.Conditions))
	}
	for _, n := range w.nodes() {
		state = append(state, fmt.Sprintf("node %s deleted=%v finalizers=%v taints=%v labels=%v", n.Name, n.DeletionTimestamp, n.Finalizers, n.Spec.Taints, n.Labels))
	}
	w.t.Fatalf("never: %s\n%s\nevents: %v", what, strings.Join(state, "\n"), w.Events.List)
}

func (w *world) round() {
	w.rounds++
	w.others()
	w.Sync()
	w.loops()
	if w.API.Cut() {
		w.Restart()
	}
	w.checkOwned()
	w.Cloud.Step()
	w.Rig.Clock.Step(2 * time.Second)
}

// checkOwned finds machines that no claim accounts for, those that are shutting
// down included.
func (w *world) checkOwned() {
	claims := w.Claims()
	for _, m := range w.Cloud.Ledger {
		if !m.Gone && !slices.ContainsFunc(claims, func(c karpv1.NodeClaim) bool { return string(c.UID) == m.Token }) {
			w.t.Errorf("machine %s exists and claim %s does not", m.ProviderID, m.Claim)
		}
	}
}

// loops reconciles everything once.
func (w *world) loops() {
	for _, c := range w.Claims() {
		_, _ = lifecycle.New(w.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&c)})
	}
	for _, n := range w.nodes() {
		_, _ = termination.New(w.Deps).Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&n)})
	}
	if w.rounds%30 == 29 && !w.noGC {
		_ = gc.New(w.Deps).Sweep(ctx)
	}
}

// others are kubelets, the agent and the driver.
func (w *world) others() {
	nodes := w.nodes()
	for _, m := range w.Cloud.Alive() {
		if !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Spec.ProviderID == m.ProviderID }) && w.Rig.Clock.Since(m.Launched) >= 3*time.Second {
			w.Join(m, "node-"+strings.TrimPrefix(m.ProviderID, "test://"))
		}
	}
	for _, n := range nodes {
		ended := w.Cloud.Find(n.Spec.ProviderID) == nil
		w.Must(client.IgnoreNotFound(w.change(&n, func() {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "cni" })
		})))
		if ended {
			n.Status.Conditions = nil
			w.Must(client.IgnoreNotFound(w.Rig.Client.Status().Update(ctx, &n)))
		}
		w.detach(n.Name)
	}
}

func (w *world) change(n *corev1.Node, f func()) error {
	f()
	return w.Rig.Client.Update(ctx, n)
}

// detach is the driver, which takes its time once the pods are gone.
func (w *world) detach(node string) {
	now := w.Rig.Clock.Now()
	if len(w.pods(node)) > 0 {
		delete(w.emptied, node)
		return
	}
	if _, ok := w.emptied[node]; !ok {
		w.emptied[node] = now
	}
	if now.Sub(w.emptied[node]) < detachTime {
		return
	}
	var list storagev1.VolumeAttachmentList
	w.Must(w.Rig.Client.List(ctx, &list))
	for _, a := range list.Items {
		if a.Spec.NodeName == node {
			w.Rig.Delete(&a)
		}
	}
}

func (w *world) claim(name string) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if !w.Get(c) {
		return nil
	}
	return c
}

func (w *world) initialized(name string) func() bool {
	return func() bool {
		c := w.claim(name)
		return c != nil && c.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized)
	}
}

func (w *world) empty() bool {
	return len(w.Claims()) == 0 && len(w.nodes()) == 0 && len(w.Cloud.Alive()) == 0
}

// occupy puts a pod with a volume onto a node.
func (w *world) occupy(node string) {
	pv := "pv-1"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db-0", UID: types.UID("uid-db-0")}, Spec: corev1.PodSpec{NodeName: node}}
	w.Must(w.Rig.Client.Create(ctx, pod))
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-1"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: node}}
	attachment.Spec.Source.PersistentVolumeName = &pv
	w.Must(w.Rig.Client.Create(ctx, attachment))
	w.Sync()
}

func startupClaim(w *world, name string) *karpv1.NodeClaim {
	c := w.NewClaim(name)
	c.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoExecute}}
	c.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	return c
}

// oneHealthyMachine is what a launch has to end with, whatever happened.
func (w *world) oneHealthyMachine() {
	w.t.Helper()
	if n := len(w.Cloud.Ledger); n != 1 {
		w.t.Errorf("%d machines were started for one claim", n)
	}
	nodes := w.nodes()
	if len(nodes) != 1 {
		w.t.Fatalf("%d nodes", len(nodes))
	}
	var taints []string
	for _, t := range nodes[0].Spec.Taints {
		taints = append(taints, t.Key)
	}
	if !slices.Equal(taints, []string{"dedicated"}) {
		w.t.Errorf("taints %v", taints)
	}
	for k, want := range map[string]string{"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true", karpv1.NodePoolLabelKey: "default"} {
		if got := nodes[0].Labels[k]; got != want {
			w.t.Errorf("label %s is %q", k, got)
		}
	}
	c := w.claim("c")
	if !c.StatusConditions().Root().IsTrue() || c.Status.ProviderID != w.Cloud.Ledger[0].ProviderID || c.Status.NodeName != nodes[0].Name {
		w.t.Errorf("claim %+v", c.Status)
	}
	if !slices.Contains(nodes[0].Finalizers, karpv1.TerminationFinalizer) || len(nodes[0].OwnerReferences) != 1 {
		w.t.Errorf("finalizers %v, owners %v", nodes[0].Finalizers, nodes[0].OwnerReferences)
	}
}

// everyCut runs a story once to count its writes, then once for every write with
// the process cut off before it, and once with it cut off after it; without -full a quarter of that.
func everyCut(t *testing.T, story func(w *world, cut func())) {
	counted := newWorld(t)
	writes := 0
	story(counted, func() { counted.API.Writes = 0 })
	writes = counted.API.Writes
	if writes < 3 {
		t.Fatalf("the story makes %d writes; it shows nothing", writes)
	}
	for at := 1; at <= writes; at++ {
		for i, late := range []bool{false, true} {
			if !property.Some(at + 2*i) {
				continue
			}
			t.Run(fmt.Sprintf("write %d late %v", at, late), func(t *testing.T) {
				w := newWorld(t)
				story(w, func() { w.API.Writes, w.API.CutAt, w.API.Late = 0, at, late })
			})
		}
	}
}

func TestALaunchThatIsCutOffAnywhereEndsWithOneMachine(t *testing.T) {
	everyCut(t, func(w *world, cut func()) {
		w.Must(w.Rig.Client.Create(ctx, startupClaim(w, "c")))
		cut()
		w.until("the claim is initialized", w.initialized("c"))
		w.oneHealthyMachine()
	})
}

func TestARemovalThatIsCutOffAnywhereLeavesNothingBehind(t *testing.T) {
	for name, begin := range map[string]func(w *world){
		"claim deleted": func(w *world) { w.Must(w.Rig.Client.Delete(ctx, w.claim("c"))) },
		"node deleted":  func(w *world) { w.Must(w.Rig.Client.Delete(ctx, &w.nodes()[0])) },
		"both deleted": func(w *world) {
			w.Must(w.Rig.Client.Delete(ctx, &w.nodes()[0]))
			w.Must(w.Rig.Client.Delete(ctx, w.claim("c")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			everyCut(t, func(w *world, cut func()) {
				w.Must(w.Rig.Client.Create(ctx, startupClaim(w, "c")))
				w.until("the claim is initialized", w.initialized("c"))
				w.occupy(w.nodes()[0].Name)
				cut()
				begin(w)
				w.until("nothing is left", w.empty)
				if len(w.Cloud.Ledger) != 1 {
					w.t.Errorf("%d machines were started", len(w.Cloud.Ledger))
				}
			})
		})
	}
}

func TestAClaimThatIsDeletedWhileItLaunchesTakesItsMachineAlong(t *testing.T) {
	for at := 1; at <= 6; at++ {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("cut at write %d late %v", at, late), func(t *testing.T) {
				w := newWorld(t)
				w.noGC = true
				w.Must(w.Rig.Client.Create(ctx, startupClaim(w, "c")))
				w.API.CutAt, w.API.Late = at, late
				for w.API.CutAt != 0 && w.rounds < 20 { // until the process was cut off
					w.round()
				}
				if c := w.claim("c"); c != nil {
					w.Must(w.Rig.Client.Delete(ctx, c))
				}
				w.until("nothing is left", func() bool {
					// The cloud's controller deletes the Nodes of machines that are gone and
					// that nobody took over.
					for _, n := range w.nodes() {
						if w.Cloud.Find(n.Spec.ProviderID) == nil && len(n.Finalizers) == 0 {
							w.Rig.Delete(&n)
						}
					}
					return w.empty()
				})
			})
		}
	}
}
