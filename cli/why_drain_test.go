package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/drain"
)

// leaving is a machine that has been going away for five minutes: a budget holds
// its web server, a finalizer a pod that has ended, and the plugin of its volume
// driver does not tolerate the taint. A second Node has a volume left of it.
func leaving() []client.Object {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }
	claim := &karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", DeletionTimestamp: at(-5 * time.Minute), Finalizers: []string{"karpenter.sh/termination"}},
		Status: karpv1.NodeClaimStatus{ProviderID: "kwok://web-1", NodeName: "ip-1", Conditions: []status.Condition{
			{Type: "Drained", Status: metav1.ConditionUnknown, Reason: "Draining", LastTransitionTime: *at(-5 * time.Minute)},
		}},
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "ip-1", DeletionTimestamp: at(-5 * time.Minute), Finalizers: []string{"karpenter.sh/termination"}},
		Spec:       corev1.NodeSpec{ProviderID: "kwok://web-1"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	drain.ApplyCordon(node)
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{NodeName: "ip-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		change(p)
		return p
	}
	pv := "pv-1"
	left := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-left", CreationTimestamp: *at(-time.Hour)}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "ip-gone", Attacher: "ebs.csi.aws.com"}}
	left.Spec.Source.PersistentVolumeName = &pv
	return []client.Object{
		claim, node, left,
		&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "ip-1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs.csi.aws.com", NodeID: "ip-1"}}}},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, ExpectedPods: 1, CurrentHealthy: 1},
		},
		pod("web", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}),
		pod("held", func(p *corev1.Pod) {
			p.Status.Phase, p.DeletionTimestamp, p.Finalizers = corev1.PodSucceeded, at(-4*time.Minute), []string{"example.com/x"}
		}),
		pod("ebs-node", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "ebs-csi-node", UID: "1"}}
			p.Spec.Volumes = []corev1.Volume{{Name: "r", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins_registry"}}}}
		}),
	}
}

func reader(t *testing.T, objects ...client.Object) func(*genericclioptions.ConfigFlags) (client.Reader, error) {
	t.Helper()
	c := fakeOf(t, objects...)
	return func(*genericclioptions.ConfigFlags) (client.Reader, error) { return c, nil }
}

func fakeOf(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, cluster.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	event := func(field func(*corev1.Event) string) client.IndexerFunc {
		return func(o client.Object) []string {
			e, _ := o.(*corev1.Event)
			return []string{field(e)}
		}
	}
	return fake.NewClientBuilder().WithScheme(kinds).WithObjects(objects...).
		WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithIndex(&corev1.Event{}, "source", event(func(e *corev1.Event) string { return e.Source.Component })).
		WithIndex(&corev1.Event{}, "reason", event(func(e *corev1.Event) string { return e.Reason })).Build()
}

func TestWhyOfADrainingNodeIsAChecklistWithBlockersAndRemedies(t *testing.T) {
	const want = `node/ip-1 has been terminating since 2026-03-11T11:55:00Z: its pods are being evicted.
It has no deadline.

Pods:
  [ ] pod/held -n default has terminated but its finalizers keep it: example.com/x
  [ ] pod/web -n default can never be evicted, because poddisruptionbudget/web -n default requires 1 of 1 pods to be healthy
  [x] pod/ebs-node -n default stays until the instance terminates: it serves the volumes of ebs.csi.aws.com

What would have to change:
  pod/held -n default: the owner of the finalizers has to remove them: example.com/x
  pod/web -n default: poddisruptionbudget/web -n default: raise maxUnavailable, lower minAvailable or add a replica, so that it can allow a disruption

To fix before the next drain:
  daemonset/ebs-csi-node -n default serves the volumes of ebs.csi.aws.com and does not tolerate the taint karpenter.sh/disrupted
  Add to each:
    spec:
      template:
        spec:
          tolerations:
          - key: karpenter.sh/disrupted
            operator: Exists
            effect: NoSchedule
`
	for _, args := range [][]string{{"node", "ip-1"}, {"claim", "web-1"}} {
		var out bytes.Buffer
		mode := color.Never
		cmd := newWhyWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, question{clock: clocktesting.NewFakePassiveClock(noon), connect: reader(t, leaving()...)})
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%v:\n%s", args, out.String())
		}
	}
}

// That the API server refuses an eviction is on no object but the claim.
func TestWhyOfADrainingNodeRepeatsWhatOnlyTheControllerKnows(t *testing.T) {
	const refused = "ordinary pods are leaving; the API server refuses to evict pod/web -n default (no such right)"
	for message, repeated := range map[string]bool{refused: true, "ordinary pods are leaving": false} {
		objects := leaving()
		objects[0].(*karpv1.NodeClaim).Status.Conditions[0].Message = message
		answer := askAbout(t, []string{"node", "ip-1"}, objects...)
		if strings.Contains(answer, "The controller reports: "+message) != repeated {
			t.Errorf("%s", answer)
		}
	}
}

// Neither is what the cloud says when it does not end the instance on any other.
func TestWhyOfADrainingNodeRepeatsThatTheCloudDoesNotEndItsInstance(t *testing.T) {
	const refused = "the cloud does not terminate the instance: its attribute disableApiTermination is set"
	objects := leaving()[:2]
	claim := objects[0].(*karpv1.NodeClaim)
	claim.Status.Conditions = []status.Condition{
		{Type: karpv1.ConditionTypeDrained, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute))},
		{Type: karpv1.ConditionTypeInstanceTerminating, Status: metav1.ConditionFalse, Message: refused},
	}
	if answer := askAbout(t, []string{"node", "ip-1"}, objects...); !strings.Contains(answer, "The controller reports: "+refused) {
		t.Errorf("it is not said:\n%s", answer)
	}
}

func TestWhyOfANodeThatWaitsForHooksSaysWhichAndUntilWhen(t *testing.T) {
	objects := leaving()
	claim, node := objects[0].(*karpv1.NodeClaim), objects[1].(*corev1.Node)
	since := metav1.NewTime(noon.Add(-5 * time.Minute))
	claim.Status.Conditions = []status.Condition{{Type: "DrainHooksPassed", Status: metav1.ConditionUnknown, Reason: "AwaitingHooks", LastTransitionTime: since}}
	claim.Annotations = map[string]string{drain.EndsAnnotation: noon.Add(time.Hour).Format(time.RFC3339)}
	node.Labels["karpenter.sh/nodepool"] = "kafka"
	policy := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}
	policy.Spec.NodePools.Names = []string{"kafka"}
	policy.Spec.Termination = &v1alpha1.Termination{Hooks: []v1alpha1.TerminationHook{
		{Name: "leaders", Before: "Drain", Condition: &v1alpha1.HookCondition{Type: "LeadersMoved"}, Timeout: &metav1.Duration{Duration: 3 * time.Minute}, OnTimeout: v1alpha1.HookWait},
		{Name: "backup", Before: "Drain", Job: &v1alpha1.HookJob{Namespace: "ops"}},
	}}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "backup-1", Labels: map[string]string{"millwright.dev/node": "ip-1", "millwright.dev/hook": "backup"}}}
	var out bytes.Buffer
	mode := color.Never
	cmd := newWhyWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, question{clock: clocktesting.NewFakePassiveClock(noon), connect: reader(t, append(objects, policy, job)...)})
	cmd.SetArgs([]string{"node", "ip-1"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = `node/ip-1 has been terminating since 2026-03-11T11:55:00Z: waiting for the policy's hooks before the drain.
It has no deadline.
The cloud stops the instance at 2026-03-11T13:00:00Z, whatever is left on it.

Hooks:
  [ ] node/ip-1 has waited too long for the hook leaders (condition LeadersMoved=True), and the policy keeps waiting, until 2026-03-11T12:59:00Z
  [ ] node/ip-1 waits for the hook backup (Job in namespace ops with label millwright.dev/hook: backup), job/backup-1 -n ops is Running, until 2026-03-11T12:05:00Z

What would have to change:
  node/ip-1: the hook's owner has to fulfil it; or set onTimeout: Continue in the policy
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestAttachmentsListsWhatIsWrongAndWhatToDo(t *testing.T) {
	ask := func(objects []client.Object, args ...string) (string, int) {
		var out bytes.Buffer
		mode := color.Never
		cmd := newAttachmentsWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, attachmentsQuery{clock: clocktesting.NewFakePassiveClock(noon), connect: reader(t, objects...)})
		cmd.SetArgs(args)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.ExecuteContext(t.Context())
		return out.String(), ExitCode(err)
	}
	out, code := ask(leaving())
	const want = `ATTACHMENT   NODE      VOLUME                  REASON               SINCE
csi-left     ip-gone   persistentvolume/pv-1   AttachmentNodeGone   2026-03-11T11:00:00Z

What to do:
  csi-left: kubectl delete volumeattachment csi-left, or a NodePolicy with termination.orphanedAttachments: Delete
`
	if out != want || code != ExitFindings {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	if out, code := ask(leaving(), "-o", "json"); !strings.Contains(out, `"reason": "AttachmentNodeGone"`) || code != ExitFindings {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	if out, code := ask(nil); out != "Nothing is wrong with any attachment.\n" || code != ExitOK {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	if _, code := ask(nil, "-o", "xml"); code != ExitError {
		t.Errorf("exit status %d", code)
	}
}
