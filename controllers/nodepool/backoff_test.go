package nodepool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/engine/lifecycle"
)

// machineOf is a launched claim of a template.
func machineOf(np *karpv1.NodePool, name string, change func(*karpv1.NodeClaim)) *karpv1.NodeClaim {
	return machine(name, "2", func(nc *karpv1.NodeClaim) {
		nc.Annotations = map[string]string{karpv1.NodePoolHashAnnotationKey: np.Hash(), karpv1.NodePoolHashVersionAnnotationKey: "v3"}
		nc.Labels[corev1.LabelInstanceTypeStable], nc.Labels[corev1.LabelTopologyZone], nc.Labels[karpv1.CapacityTypeLabelKey] = "m", "a", "spot"
		change(nc)
	})
}

func TestMachinesThatFailInARowPauseThePoolWhichSaysSo(t *testing.T) {
	r := looptest.New(t, class("True", "", ""), pool(nil))
	c := reconciler(r)
	np := run(t, r, c)
	var failures []*karpv1.NodeClaim
	for i := range 3 {
		nc := machineOf(np, fmt.Sprint("failed-", i), func(nc *karpv1.NodeClaim) {
			at := metav1.NewTime(looptest.Noon.Add(time.Duration(i) * time.Second))
			nc.Annotations[lifecycle.GivenUpAnnotation] = string(lifecycle.RegistrationTimedOut)
			nc.DeletionTimestamp = &at
		})
		failures = append(failures, nc)
		c.failed.observe(nc) // it is gone before anybody looks
		c.failed.observe(nc)
	}
	np = run(t, r, c)
	want := "True LaunchesPaused: 3 machines in a row failed (registration_timeout, last nodeclaim/failed-2); no other is launched before 2026-03-11T12:02:02Z"
	if got := condition(np, "LaunchesPaused"); got != want {
		t.Errorf("the pool says %q\nwant %q", got, want)
	}
	if got := condition(np, status.ConditionReady); !strings.HasPrefix(got, "True") {
		t.Errorf("Ready is %q: pausing is not Karpenter's business", got)
	}

	r.Restart() // what was counted is on the object, and is not counted again
	c = reconciler(r)
	for _, nc := range failures {
		c.failed.observe(nc)
	}
	if got := condition(run(t, r, c), "LaunchesPaused"); got != want {
		t.Errorf("after a restart the pool says %q", got)
	}
	if got := r.Snapshot().Pool("general").NotReady; !strings.Contains(got, "3 machines in a row failed") {
		t.Errorf("placement sees %q", got)
	}

	r.Clock.Step(3 * time.Minute)
	if got := condition(run(t, r, c), "LaunchesPaused"); !strings.HasPrefix(got, "True LaunchesOnTrial: 3 machines in a row failed") {
		t.Errorf("after the pause the pool says %q", got)
	}
	if p := r.Snapshot().Pool("general"); p.NotReady != "" || !p.OnTrial {
		t.Errorf("placement sees not ready %q, on trial %v", p.NotReady, p.OnTrial)
	}

	r.Must(r.Client.Create(ctx, machineOf(np, "good", func(nc *karpv1.NodeClaim) {
		nc.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue, Reason: "Initialized", LastTransitionTime: metav1.NewTime(r.Clock.Now())}}
	})))
	if got := condition(run(t, r, c), "LaunchesPaused"); got != "" {
		t.Errorf("after a success the pool says %q", got)
	}
}
