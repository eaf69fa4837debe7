package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/color"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	k8sresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
)

// aWorkload is a Deployment that is too large for any machine, with two pods, and workloads
// whose pods the API server refuses, beside the machine of base.yaml.
func aWorkload(t *testing.T) []client.Object {
	t.Helper()
	selector := map[string]string{"app": "huge"}
	objects := append(objectsOf(t, "testdata/why/base.yaml"), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "huge"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}},
	}, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "refused"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "refused"}}},
		Status:     appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "pods \"refused-\" is forbidden: no"}}},
	}, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "huge-1"},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: selector}},
		Status:     appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Message: "pods \"huge-c\" is forbidden: exceeded quota"}}},
	})
	objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "duplicate"}, Spec: corev1.NodeSpec{ProviderID: "kwok://general-a"}})
	for name, strategy := range map[string]string{"room": "", "lost": "", "foreign": "other"} {
		b := &bufferv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		b.Spec.PodTemplateRef, b.Spec.ProvisioningStrategy = &bufferv1beta1.LocalObjectRef{Name: "none"}, &strategy
		if name != "room" {
			b.Status.Conditions = []metav1.Condition{{Type: "ReadyForProvisioning"}}
		}
		objects = append(objects, b)
	}
	for name, namespace := range map[string]string{"huge-a": "default", "huge-b": "default", "elsewhere": "shop"} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: selector}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": k8sresource.MustParse("900")}}}}
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		objects = append(objects, p)
	}
	return objects
}

func TestWhyTakesKubectlsForms(t *testing.T) {
	// duplicate is no pool's Node.
	unsaid := map[string]string{"nodes": "duplicate", "job -A": "namespace", "pods": "elsewhere"}
	const huge, node, pool = "pod/huge-a -n default cannot be placed.", "node/node-a has been ready since", "nodepool/general has 1 node"
	for args, want := range map[string][]string{
		"pod huge-a":                     {huge},
		"po/huge-a no/node-a":            {huge, node},
		"pods huge-a huge-b":             {huge, "The same holds for pod/huge-b -n default.\n"},
		"deployment/huge":                {huge, "The same holds for pod/huge-b -n default.\n"},
		"deploy huge":                    {huge},
		"pods -l app=huge":               {huge, "The same holds for pod/huge-b"},
		"nodes -l karpenter.sh/nodepool": {node},
		"node/node-a":                    {node},
		"nodepools.karpenter.sh general": {pool},
		"NodePool/general":               {pool},
		"nodepool.karpenter.sh/general":  {pool},
		"deployment.apps/huge":           {huge},
		"deployments.v1.apps huge":       {huge},
		"deployment.batch/huge":          {`error: "deployment.batch" is not one of node, pod`},
		"pod/huge-a pod/gone":            {huge, "error: pod/gone -n default does not exist"},
		"pod/gone node/gone":             {"error: pod/gone -n default does not exist\nnode/gone does not exist"},
		"pods -l app=none":               {"error: there is no pod with app=none in namespace default"},
		"pods -l ==":                     {"error: --selector: "},
		"pods huge-a -l app=huge":        {"error: --selector: cannot be given together with names"},
		"pods":                           {huge, "The same holds for pod/huge-b"},
		"pods -A":                        {huge, "The same holds for pod/huge-b -n default, pod/elsewhere -n shop."},
		"nodepools":                      {pool},
		"nodes":                          {node},
		"deployments -A":                 {huge, "deployment/refused -n default lacks pods"},
		"pod huge-a -A":                  {"error: --all-namespaces: cannot be given together with names"},
		"job":                            {"error: there is no job in namespace default"},
		"job -A":                         {"error: there is no job"},
		"pod/huge-a node-a":              {"error: node-a: either TYPE NAME... or TYPE/NAME..., not both"},
		"pod huge-a node/node-a":         {"error: node/node-a: either TYPE NAME... or TYPE/NAME..., not both"},
		"pod/":                           {"error: pod/: not of the form TYPE/NAME"},
		"node/duplicate":                 {"error: node/duplicate carries the provider ID of nodeclaim/general-a, whose Node is node/node-a: Millwright has nothing to do with it"},
		"service/web":                    {`error: "service" is not one of node, pod, nodeclaim, nodepool, capacitybuffer, deployment`},
		"capacitybuffer room":            {"capacitybuffer/room -n default counts for nothing: no controller has said anything in its status."},
		"cb/lost":                        {"capacitybuffer/lost -n default keeps no room (PodTemplateNotFound): PodTemplate \"none\" does not exist in namespace \"default\"."},
		"buffers gone":                   {"error: capacitybuffer/gone -n default does not exist"},
		"capacitybuffers.autoscaling.x-k8s.io foreign": {"capacitybuffer/foreign -n default is left to others"},
		"deploy/refused":   {"error: deployment/refused -n default lacks pods: the API server refuses them: pods \"refused-\" is forbidden: no"},
		"rs/huge-1":        {huge, "error: replicaset/huge-1 -n default lacks pods: the API server refuses them: pods \"huge-c\" is forbidden: exceeded quota"},
		"statefulset/gone": {"error: reading statefulset/gone -n default: "},
	} {
		var out bytes.Buffer
		mode := color.Never
		cmd := newWhyWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, question{clock: clocktesting.NewFakePassiveClock(noon), connect: reader(t, aWorkload(t)...)})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(strings.Fields(args), "--instance-types", "testdata/why/types.json", "--namespace", "default"))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			out.WriteString("error: " + err.Error())
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("why %s: does not say %q:\n%s", args, text, out.String())
			}
		}
		if text, never := unsaid[args]; never && strings.Contains(out.String(), text) {
			t.Errorf("why %s: says %q:\n%s", args, text, out.String())
		}
	}
}

func TestNamesAreCompletedFromTheCluster(t *testing.T) {
	for begun, want := range map[string]string{
		"":               "node pod nodeclaim nodepool capacitybuffer deployment replicaset statefulset daemonset job",
		"pod ":           "huge-a huge-b web-0",
		"pod huge-a ":    "huge-b web-0",
		"buffer ":        "foreign lost room",
		"deploy/":        "deploy/huge deploy/refused",
		"pod/huge-a no/": "no/duplicate no/node-a",
		"service ":       "",
	} {
		var out bytes.Buffer
		mode := color.Never
		cmd := newWhyWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, question{clock: clocktesting.NewFakePassiveClock(noon), connect: reader(t, aWorkload(t)...)})
		cmd.SetOut(&out)
		cmd.SetArgs(append([]string{"__complete", "--namespace", "default"}, strings.Split(begun, " ")...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, _, _ := strings.Cut(out.String(), ":4\n")
		if got := strings.Join(strings.Fields(got), " "); got != want {
			t.Errorf("%q: completed with %q, want %q", begun, got, want)
		}
	}
}
