package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cluster"

	"github.com/millwright-dev/millwright/internal/golden"
)

func read(files []string, recursive bool) (*manifest.Result, error) {
	found, err := manifest.Find(files, recursive)
	if err != nil {
		return nil, err
	}
	return manifest.Read(found, nil)
}

func autoscaler(t *testing.T, args ...string) (string, error) {
	t.Helper()
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	cmd := New(Config{Streams: streams, Read: read})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"cluster-autoscaler"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// Groups that differ in their zone alone become one pool, with labels and taints of tags and
// Nodes; the result is what an API server would take.
func TestGroupsBecomePoolsAndWaves(t *testing.T) {
	got, err := autoscaler(t, "--groups", "testdata/groups.json", "-f", "testdata/nodes.yaml", "--role", "nodes")
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/pools.yaml", got)
	read, err := manifest.Read([]string{"testdata/pools.yaml"}, nil)
	if err != nil || len(read.Objects) != 3 {
		t.Errorf("%d objects, %v", len(read.Objects), err)
	}
}

// An account has other groups than those of a cluster: they are neither drained nor scaled to none.
func TestGroupsOfOthersAreLeftOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "groups.json")
	const groups = `{"AutoScalingGroups": [
		{"AutoScalingGroupName": "ours", "Tags": [{"Key": "k8s.io/cluster-autoscaler/shop", "Value": "owned"}, {"Key": "eks:nodegroup-name", "Value": "web"}]},
		{"AutoScalingGroupName": "scaled", "Tags": [{"Key": "k8s.io/cluster-autoscaler/enabled", "Value": "true"}]},
		{"AutoScalingGroupName": "joined", "Instances": [{"InstanceId": "i-0a1"}]},
		{"AutoScalingGroupName": "theirs", "Tags": [{"Key": "eks:cluster-name", "Value": "other"}]},
		{"AutoScalingGroupName": "website", "Instances": [{"InstanceId": "i-0ff"}]}]}`
	if err := os.WriteFile(file, []byte(groups), 0o600); err != nil {
		t.Fatal(err)
	}
	nodes := filepath.Join(t.TempDir(), "nodes.yaml")
	if err := os.WriteFile(nodes, []byte("{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {providerID: aws:///eu-west-1a/i-0a1}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := autoscaler(t, "--groups", file, "-f", nodes, "--role", "nodes", "--cluster-name", "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"of cluster shop: theirs, website\n", "--cluster-name shop --nodegroup-name web", "group-name joined --min-size 0", "group-name scaled --min-size 0",
		"# scaled has no instances, and its launch template is not read; the pool may launch all types of amd64.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "group-name website") || strings.Contains(got, "group-name theirs") || strings.Contains(got, "name: website") {
		t.Errorf("the groups of others are moved:\n%s", got)
	}
}

func TestGroupsThatCannotBeReadAreNamed(t *testing.T) {
	for want, text := range map[string]string{
		"is not what aws autoscaling":          `[`,
		"there is no Auto Scaling group":       `{"AutoScalingGroups": []}`,
		"AutoScalingGroups[0]":                 `{"AutoScalingGroups": [{}]}`,
		"no tag of the groups names":           `{"AutoScalingGroups": [{"AutoScalingGroupName": "a"}]}`,
		`"batch" is not VALUE:EFFECT`:          `{"AutoScalingGroups": [{"AutoScalingGroupName": "a", "Tags": [{"Key": "eks:cluster-name", "Value": "c"}, {"Key": "k8s.io/cluster-autoscaler/node-template/taint/x", "Value": "batch"}]}]}`,
		"pick one of c, d with --cluster-name": `{"AutoScalingGroups": [{"AutoScalingGroupName": "a", "Tags": [{"Key": "eks:cluster-name", "Value": "c"}]}, {"AutoScalingGroupName": "b", "Tags": [{"Key": "eks:cluster-name", "Value": "d"}]}]}`,
	} {
		file := filepath.Join(t.TempDir(), "groups.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := autoscaler(t, "--groups", file, "--role", "nodes"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := autoscaler(t); err == nil || !strings.Contains(err.Error(), "--groups and --role are needed") {
		t.Errorf("got %v", err)
	}
}

var errFindings = errors.New("findings")

// look writes the report of a cluster with some objects.
func look(t *testing.T, kinds error, objects ...client.Object) (string, error) {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, cluster.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	r := report{
		Config: Config{Streams: streams, Findings: errFindings, Settings: func(name, _ string) string {
			if name == "CPU_REQUESTS" {
				return "no effect: because"
			}
			return ""
		}},
		reader: fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).Build(),
		clock:  clocktesting.NewFakePassiveClock(now), kinds: func(context.Context, io.Writer) error { return kinds },
	}
	err := r.write(t.Context())
	return out.String(), err
}

var now = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func deployed(name, namespace string, env ...corev1.EnvVar) *appsv1.Deployment {
	one := int32(1)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{nameLabel: name, "app.kubernetes.io/instance": name}},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "controller", Image: "example.com/" + name, Env: env, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
		}}},
	}
}

func held(namespace string, renewed time.Time) *coordinationv1.Lease {
	holder, seconds := "karpenter-0", int32(15)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: cluster.LeaseName, Namespace: namespace},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &metav1.MicroTime{Time: renewed}},
	}
}

func TestTheReportSaysWhoActsAndWhatHasNoEffect(t *testing.T) {
	text, err := look(t, nil, deployed("karpenter", "kube-system", corev1.EnvVar{Name: "CPU_REQUESTS", Value: "2"}, corev1.EnvVar{Name: "CLUSTER_NAME", Value: "shop"}), held("kube-system", now.Add(-time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"deployment/karpenter -n kube-system", "is held by karpenter-0", "CPU_REQUESTS=2: no effect: because", "no machine would be taken away",
		"helm get values karpenter --namespace kube-system", "scale deployment karpenter --replicas=0", "--replicas=1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "CLUSTER_NAME") || strings.Contains(text, "against it") {
		t.Errorf("got\n%s", text)
	}
	text, err = look(t, nil, deployed("karpenter", "kube-system"), held("kube-system", now.Add(-time.Minute)))
	if err != nil || !strings.Contains(text, "is free") {
		t.Errorf("a lease that was not renewed: %v\n%s", err, text)
	}
}

func TestTwoThatWouldActAreObjectedTo(t *testing.T) {
	both := deployed("millwright", "millwright-system", corev1.EnvVar{Name: "MODE", Value: "act"})
	text, err := look(t, nil, deployed("karpenter", "kube-system"), both)
	if !errors.Is(err, errFindings) || !strings.Contains(text, "both act. Install it in kube-system") {
		t.Errorf("%v\n%s", err, text)
	}
	watching := deployed("millwright", "millwright-system", corev1.EnvVar{Name: "MODE", Value: "observe"})
	if text, err := look(t, nil, deployed("karpenter", "kube-system"), watching); err != nil {
		t.Errorf("one that observes: %v\n%s", err, text)
	}
	if text, err := look(t, errors.New("not replaced: nodepools"), deployed("karpenter", "kube-system")); !errors.Is(err, errFindings) || !strings.Contains(text, "not replaced: nodepools") {
		t.Errorf("kinds: %v\n%s", err, text)
	}
	if _, err := look(t, nil); err == nil || !strings.Contains(err.Error(), "Karpenter is not installed here") {
		t.Errorf("without Karpenter: %v", err)
	}
}

const managedBuffer = `
apiVersion: v1
kind: PodTemplate
metadata: {name: chunk, namespace: default}
template: {spec: {containers: [{name: main, image: chunk, resources: {requests: {cpu: "1"}}}]}}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: room, namespace: default}
spec: {podTemplateRef: {name: chunk}, replicas: 20}
status: {conditions: [{type: ReadyForProvisioning, status: "True", reason: Resolved, message: "", lastTransitionTime: "2026-03-11T12:00:00Z"}]}
`

// A dump is looked at as the cluster would be, but for what it does not hold.
func TestADumpIsLookedAtLikeACluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	text, err := json.Marshal(deployed("karpenter", "kube-system", corev1.EnvVar{Name: "CPU_REQUESTS", Value: "2"}))
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte(`{"apiVersion": "apps/v1", "kind": "Deployment", `), text[1:]...)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	run := func(file string) error {
		cmd := New(Config{Streams: streams, Findings: errFindings, Settings: func(string, string) string { return "" }, Types: classes.Load, Read: read})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"karpenter", "-f", "../testdata/manifests/machines.yaml", "-f", "../testdata/manifests/pool.yaml", "-f", file})
		return cmd.ExecuteContext(t.Context())
	}
	if err := run(file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deployment/karpenter -n kube-system", "Empty: idle", "KWOKNodeClass default is planned with EC2's instance types", "Machines that go: Empty 1", "helm get values karpenter"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "is free") || strings.Contains(out.String(), "Kinds") {
		t.Errorf("a dump has no lease and no definitions:\n%s", out)
	}
	out.Reset()
	text = append(text, "\n---\n"+managedBuffer...)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(file); err != nil || strings.Contains(out.String(), "Empty: idle") {
		t.Errorf("the machine has the room of a buffer that Karpenter keeps, %v:\n%s", err, out)
	}
	if err := run("../testdata/manifests/empty.yaml"); err == nil || !strings.Contains(err.Error(), "Karpenter is not installed here") {
		t.Errorf("without Karpenter: %v", err)
	}
}
