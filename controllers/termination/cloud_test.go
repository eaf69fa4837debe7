package termination_test

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
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
)

// lister is a cloud that knows which volumes are attached to its one machine.
type lister struct {
	*looptest.Cloud
	attached []cloud.Attachment
	err      error
	asked    int
}

func (l *lister) Attachments(context.Context, string) ([]cloud.Attachment, error) {
	l.asked++
	return l.attached, l.err
}

// leavingVolume is a rig whose Node goes, and whose cloud has a volume attached that
// no VolumeAttachment is about.
func leavingVolume(t *testing.T) (*rig, *lister) {
	r := newRig(t, nil)
	l := &lister{Cloud: r.Cloud, attached: []cloud.Attachment{{Driver: "ebs.csi.aws.com", Handle: "vol-1", State: "busy"}}}
	r.Deps.Provider = l
	r.Must(r.Rig.Client.Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "data-db"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"}},
	}}))
	r.Must(r.Rig.Client.Delete(ctx, r.node()))
	return r, l
}

func TestAVolumeThatOnlyTheCloudStillHasKeepsTheMachine(t *testing.T) {
	r, l := leavingVolume(t)
	for range 30 {
		r.step()
	}
	c := r.claim().StatusConditions().Get(karpv1.ConditionTypeVolumesDetached)
	if r.Cloud.Ledger[0].State != cloud.Running || c == nil || !strings.Contains(c.Message, "persistentvolumeclaim/data-db -n default") || !strings.Contains(c.Message, "busy") {
		t.Fatalf("machine %s, condition %+v", r.Cloud.Ledger[0].State, c)
	}
	if !r.event("NodeClaim/c AwaitingVolumeDetachment") {
		t.Errorf("events %v", r.Events.List)
	}
	l.attached = nil
	r.step()
	if r.Cloud.Ledger[0].State != cloud.ShuttingDown {
		t.Errorf("machine %s", r.Cloud.Ledger[0].State)
	}
	before := l.asked
	r.step()
	if l.asked != before {
		t.Error("the cloud is asked about a machine that has been told to end")
	}
}

func TestAVolumeThatTheCloudNeverLetsGoOfIsOnRecord(t *testing.T) {
	r, _ := leavingVolume(t)
	for range 10 {
		r.step()
	}
	r.Rig.Clock.Step(3 * time.Minute)
	r.step()
	c := r.claim().StatusConditions().Get(karpv1.ConditionTypeVolumesDetached)
	if r.Cloud.Ledger[0].State != cloud.ShuttingDown || !c.IsFalse() || c.Reason != "VolumesHeld" {
		t.Errorf("machine %s, condition %+v", r.Cloud.Ledger[0].State, c)
	}
	if !r.event("Node/n VolumesLeftBehind: left behind: persistentvolume/data") {
		t.Errorf("events %v", r.Events.List)
	}
}

func TestACloudThatMayNotBeAskedHoldsNothingUp(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want cloud.State
	}{
		"not allowed": {&cloud.UnauthorizedError{Action: "ec2:DescribeVolumes", Err: errors.New("denied")}, cloud.ShuttingDown},
		"gone":        {cloud.ErrNotFound, cloud.ShuttingDown},
		"throttled":   {&cloud.ThrottledError{Err: errors.New("slow down")}, cloud.Running},
	} {
		t.Run(name, func(t *testing.T) {
			r, l := leavingVolume(t)
			l.err = test.err
			for range 20 {
				r.step()
			}
			if got := r.Cloud.Ledger[0].State; got != test.want {
				t.Errorf("machine %s, want %s", got, test.want)
			}
			r.Rig.Clock.Step(3 * time.Minute)
			r.step()
			if r.node() != nil && r.Cloud.Ledger[0].State == cloud.Running {
				t.Error("a cloud that does not answer keeps the machine for ever")
			}
		})
	}
}
