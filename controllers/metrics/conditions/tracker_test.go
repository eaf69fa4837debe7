package conditions

import (
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(-time.Duration(seconds) * time.Second))
}

func trackerOf(t *testing.T, name string) *Tracker {
	t.Helper()
	for _, k := range kinds([]snapshot.ClassRef{{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass"}}, &karpv1.NodePool{}) {
		if k.name == name {
			return newTracker(k, clocktesting.NewFakePassiveClock(noon))
		}
	}
	t.Fatalf("no kind %s", name)
	return nil
}

func claim(s metav1.ConditionStatus, reason string, since metav1.Time) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "a", UID: "a", Labels: map[string]string{"karpenter.sh/nodepool": "blue", "karpenter.k8s.aws/ec2nodeclass": "default"},
	}}
	c.Status.Conditions = []status.Condition{{Type: "Initialized", Status: s, Reason: reason, LastTransitionTime: since}}
	return c
}

func TestAConditionThatChangesIsCountedAndTimed(t *testing.T) {
	claims := trackerOf(t, "nodeclaim")
	claims.see(claim(metav1.ConditionUnknown, "NodeNotReady", ago(50)))
	claims.see(claim(metav1.ConditionUnknown, "StartupTaintsExist", ago(50))) // no other status
	claims.see(claim(metav1.ConditionTrue, "Initialized", ago(10)))
	expect(t, claims, "operator_nodeclaim_status_condition_count", `
		# HELP operator_nodeclaim_status_condition_count A condition of an object as it is now: always 1.
		# TYPE operator_nodeclaim_status_condition_count gauge
		operator_nodeclaim_status_condition_count{karpenter_k8s_aws_ec2nodeclass="default",karpenter_sh_nodepool="blue",name="a",namespace="",reason="Initialized",status="True",type="Initialized"} 1
	`)
	expect(t, claims, "operator_nodeclaim_status_condition_current_status_seconds", `
		# HELP operator_nodeclaim_status_condition_current_status_seconds For how long a condition has had its status.
		# TYPE operator_nodeclaim_status_condition_current_status_seconds gauge
		operator_nodeclaim_status_condition_current_status_seconds{karpenter_k8s_aws_ec2nodeclass="default",karpenter_sh_nodepool="blue",name="a",namespace="",reason="Initialized",status="True",type="Initialized"} 10
	`)
	expect(t, claims, "operator_nodeclaim_status_condition_transitions_total", `
		# HELP operator_nodeclaim_status_condition_transitions_total Changes of a condition's status, by the new one.
		# TYPE operator_nodeclaim_status_condition_transitions_total counter
		operator_nodeclaim_status_condition_transitions_total{karpenter_k8s_aws_ec2nodeclass="default",karpenter_sh_nodepool="blue",reason="Initialized",status="True",type="Initialized"} 1
		operator_nodeclaim_status_condition_transitions_total{karpenter_k8s_aws_ec2nodeclass="default",karpenter_sh_nodepool="blue",reason="NodeNotReady",status="Unknown",type="Initialized"} 1
	`)
	// 40 seconds as Unknown: the first bucket that holds it is 64.
	if n := testutil.CollectAndCount(claims, "operator_nodeclaim_status_condition_transition_seconds"); n != 1 {
		t.Errorf("%d histograms of transitions, want 1", n)
	}
}

func TestAnObjectThatGoesIsTimedAndThenForgotten(t *testing.T) {
	claims := trackerOf(t, "nodeclaim")
	going := claim(metav1.ConditionTrue, "Initialized", ago(100))
	since := ago(30)
	going.DeletionTimestamp = &since
	claims.see(going)
	expect(t, claims, "operator_nodeclaim_termination_current_time_seconds", `
		# HELP operator_nodeclaim_termination_current_time_seconds For how long an object has been going.
		# TYPE operator_nodeclaim_termination_current_time_seconds gauge
		operator_nodeclaim_termination_current_time_seconds{karpenter_k8s_aws_ec2nodeclass="default",karpenter_sh_nodepool="blue",name="a",namespace=""} 30
	`)
	claims.forget(toolscache.DeletedFinalStateUnknown{Key: "a", Obj: going})
	for series, want := range map[string]int{
		"operator_nodeclaim_termination_current_time_seconds": 0, "operator_nodeclaim_status_condition_count": 0, "operator_nodeclaim_termination_duration_seconds": 1,
	} {
		if n := testutil.CollectAndCount(claims, series); n != want {
			t.Errorf("%d series %s, want %d", n, series, want)
		}
	}
}

func TestNodesHaveTheLabelOfInitialization(t *testing.T) {
	nodes := trackerOf(t, "node")
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Labels: map[string]string{"karpenter.sh/initialized": "true"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", LastTransitionTime: ago(5)}}
	nodes.see(n)
	expect(t, nodes, "operator_node_status_condition_count", `
		# HELP operator_node_status_condition_count A condition of an object as it is now: always 1.
		# TYPE operator_node_status_condition_count gauge
		operator_node_status_condition_count{karpenter_k8s_aws_ec2nodeclass="",karpenter_sh_initialized="true",karpenter_sh_nodepool="",name="n",namespace="",reason="KubeletNotReady",status="False",type="Ready"} 1
	`)
}

func expect(t *testing.T, c *Tracker, series, want string) {
	t.Helper()
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), series); err != nil {
		t.Error(err)
	}
}
