package attachments_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/attachments"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
)

var ctx = context.Background()

// scene has claim c with Node n, and a volume of claim default/data.
type scene struct {
	*looptest.Rig
	watcher *attachments.Watcher
}

func newScene(t *testing.T) *scene {
	r := looptest.New(t)
	c := r.NewClaim("c")
	r.Must(r.Client.Create(ctx, c))
	c.Status.ProviderID = "test://1"
	r.Must(r.Client.Status().Update(ctx, c))
	r.Join(&looptest.Machine{Instance: cloud.Instance{ProviderID: "test://1"}}, "n")
	r.Must(r.Client.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "n"}}}}))
	r.Must(r.Client.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}))
	r.Must(r.Client.Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "data"}}}))
	return &scene{r, attachments.New(r.Deps)}
}

func (s *scene) attach(node string, attached bool) *storagev1.VolumeAttachment {
	pv := "pv"
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-1", UID: "uid-1", CreationTimestamp: metav1.NewTime(s.Rig.Clock.Now())}}
	a.Spec.NodeName, a.Spec.Attacher, a.Spec.Source.PersistentVolumeName = node, "ebs.csi.aws.com", &pv
	a.Status.Attached = attached
	s.Must(s.Rig.Client.Create(ctx, a))
	return a
}

func (s *scene) look(t *testing.T, after time.Duration) {
	t.Helper()
	s.Rig.Clock.Step(after)
	s.Sync()
	if err := s.watcher.Look(ctx); err != nil {
		t.Fatal(err)
	}
}

func (s *scene) condition() string {
	claim := s.Claims()[0]
	c := claim.StatusConditions().Get(attachments.Healthy)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func (s *scene) event(prefix string) bool {
	return slices.ContainsFunc(s.Events.List, func(e string) bool { return strings.HasPrefix(e, prefix) })
}

func TestAVolumeThatIsNotAttachedInTimeIsShownOnClaimAndVolumeClaim(t *testing.T) {
	s := newScene(t)
	a := s.attach("n", false)
	s.look(t, time.Minute)
	if got := s.condition(); got != "" || len(s.Events.List) != 0 {
		t.Errorf("too early: %q, %v", got, s.Events.List)
	}
	s.look(t, time.Minute)
	if got := s.condition(); got != "False AttachmentSlow" || !s.event("VolumeAttachment/csi-1 AttachmentFault") || !s.event("PersistentVolumeClaim/data AttachmentFault") {
		t.Errorf("condition %q, events %v", got, s.Events.List)
	}
	a.Status.Attached = true
	s.Must(s.Rig.Client.Status().Update(ctx, a))
	s.look(t, time.Minute)
	if got := s.condition(); got != "True AttachmentsHealthy" {
		t.Errorf("condition %q", got)
	}
}

func TestAnAttachmentToANodeThatIsGoneIsDeletedOnlyIfAPolicySaysSo(t *testing.T) {
	for name, want := range map[v1alpha1.OrphanedAttachments]bool{v1alpha1.OrphansReport: false, v1alpha1.OrphansDelete: true} {
		t.Run(string(name), func(t *testing.T) {
			s := newScene(t)
			s.Must(s.Rig.Client.Create(ctx, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
			s.Must(s.Rig.Client.Create(ctx, &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePolicySpec{
				NodePools:   v1alpha1.PoolSelector{Names: []string{"default"}},
				Termination: &v1alpha1.Termination{OrphanedAttachments: name},
			}}))
			a := s.attach("gone", true)
			s.look(t, time.Minute)
			s.look(t, 5*time.Minute)
			if !s.Get(a) || !s.event("VolumeAttachment/csi-1 AttachmentFault") {
				t.Errorf("deleted before Kubernetes had its chance, or not told: %v", s.Events.List)
			}
			s.look(t, time.Minute)
			if got := !s.Get(a); got != want {
				t.Errorf("deleted: %v", got)
			}
		})
	}
}

func TestAnAttachmentWhoseNodeTheStoreDoesNotKnowYetIsNoOrphan(t *testing.T) {
	s := newScene(t)
	s.attach("new", true)
	s.Sync()
	s.Must(s.Rig.Client.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}}))
	if err := s.watcher.Look(ctx); err != nil {
		t.Fatal(err)
	}
	if len(s.Events.List) != 0 {
		t.Errorf("events %v", s.Events.List)
	}
}
