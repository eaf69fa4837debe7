package addon

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor/source"
)

// model is what an add-on runs.
type model struct {
	// defaults are, in YAML, those of the values that can be set and matter here.
	defaults string
	render   func(configuration) []client.Object
}

func (m model) plainDefaults() (map[string]any, error) {
	var out map[string]any
	if err := yaml.Unmarshal([]byte(m.defaults), &out); err != nil {
		return nil, err
	}
	return source.Plain(out)
}

// models are the add-ons whose tolerations are documented.
var models = map[string]model{
	"aws-ebs-csi-driver": {`
node:
  tolerateAllTaints: true
  terminationGracePeriodSeconds: 30
  tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
controller:
  replicaCount: 2
  tolerations: [{key: CriticalAddonsOnly, operator: Exists}, {operator: Exists, effect: NoExecute, tolerationSeconds: 300}]
`, ebs},
	"aws-efs-csi-driver": {`
node:
  tolerations: [{operator: Exists}]
controller:
  replicaCount: 2
  tolerations: [{key: CriticalAddonsOnly, operator: Exists}, {key: efs.csi.aws.com/agent-not-ready, operator: Exists}]
`, efs},
	"coredns": {`
replicaCount: 2
tolerations: [{key: CriticalAddonsOnly, operator: Exists}, {key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]
podDisruptionBudget: {enabled: true, maxUnavailable: 1, minAvailable: null}
`, coredns},
	"vpc-cni":                {"tolerations: [{operator: Exists}]", vpcCNI},
	"kube-proxy":             {"{}", kubeProxy},
	"eks-pod-identity-agent": {"tolerations: [{operator: Exists}]", podIdentity},
	"metrics-server":         {"replicas: 2\ntolerations: []", metricsServer},
}

func ebs(c configuration) []client.Object {
	all, node := true, []corev1.Toleration(nil)
	c.read(&all, "node", "tolerateAllTaints")
	if all {
		node = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	} else {
		c.read(&node, "node", "tolerations")
		if c.since("1.36.0") {
			node = append(node, toleratedSince136...)
		}
	}
	ds := daemonSet("ebs-csi-node", node)
	agent := &ds.Spec.Template.Spec.Containers[0]
	if c.version != nil {
		agent.Image = "aws-ebs-csi-driver:v" + c.version.String()
	}
	if c.since("1.23.0") {
		agent.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"pre-stop-hook"}}}}
	}
	c.read(&ds.Spec.Template.Spec.TerminationGracePeriodSeconds, "node", "terminationGracePeriodSeconds")
	agent.Args = []string{"node", "--endpoint=unix:/var/lib/kubelet/plugins/ebs.csi.aws.com/csi.sock"}
	for value, argument := range map[string]string{"reservedVolumeAttachments": "--reserved-volume-attachments", "volumeAttachLimit": "--volume-attach-limit"} {
		var n *int
		if c.read(&n, "node", value); n != nil {
			agent.Args = append(agent.Args, fmt.Sprintf("%s=%d", argument, *n))
		}
	}
	mount(ds, "/var/lib/kubelet/plugins_registry/")
	return []client.Object{ds, deployment(c, "ebs-csi-controller", []string{"controller", "replicaCount"}, []string{"controller", "tolerations"})}
}

func efs(c configuration) []client.Object {
	var node []corev1.Toleration
	c.read(&node, "node", "tolerations")
	ds := daemonSet("efs-csi-node", node)
	ds.Spec.Template.Spec.Containers[0].Args = []string{"--endpoint=unix:/var/lib/kubelet/plugins/efs.csi.aws.com/csi.sock"}
	mount(ds, "/var/lib/kubelet/plugins_registry/")
	return []client.Object{ds, deployment(c, "efs-csi-controller", []string{"controller", "replicaCount"}, []string{"controller", "tolerations"})}
}

// toleratedSince136 is what the EBS driver's agents tolerate, whatever is set, since 1.36.
var toleratedSince136 = []corev1.Toleration{
	{Key: "ebs.csi.aws.com/agent-not-ready", Operator: corev1.TolerationOpExists},
	{Key: "ToBeDeletedByClusterAutoscaler", Operator: corev1.TolerationOpExists},
	{Key: "karpenter.sh/disrupted", Operator: corev1.TolerationOpExists},
	{Key: "karpenter.sh/disruption", Operator: corev1.TolerationOpExists},
}

func coredns(c configuration) []client.Object {
	d := deployment(c, "coredns", []string{"replicaCount"}, []string{"tolerations"})
	out := []client.Object{d}
	enabled := true
	if c.read(&enabled, "podDisruptionBudget", "enabled"); enabled {
		out = append(out, budget(c, d))
	}
	return out
}

// budget is the PodDisruptionBudget of a Deployment; minAvailable wins over maxUnavailable.
func budget(c configuration, d *appsv1.Deployment) *policyv1.PodDisruptionBudget {
	pdb := &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: metav1.ObjectMeta{Name: d.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: d.Spec.Selector},
	}
	var least, most *intstr.IntOrString
	c.read(&least, "podDisruptionBudget", "minAvailable")
	c.read(&most, "podDisruptionBudget", "maxUnavailable")
	if least != nil {
		most = nil
	}
	pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable = least, most
	return pdb
}

func vpcCNI(c configuration) []client.Object {
	var tolerations []corev1.Toleration
	c.read(&tolerations, "tolerations")
	ds := daemonSet("aws-node", tolerations)
	ds.Spec.Template.Spec.HostNetwork = true
	mount(ds, "/etc/cni/net.d")
	return []client.Object{ds}
}

func kubeProxy(configuration) []client.Object {
	ds := daemonSet("kube-proxy", []corev1.Toleration{{Operator: corev1.TolerationOpExists}})
	ds.Spec.Template.Spec.HostNetwork = true
	return []client.Object{ds}
}

func podIdentity(c configuration) []client.Object {
	var tolerations []corev1.Toleration
	c.read(&tolerations, "tolerations")
	return []client.Object{daemonSet("eks-pod-identity-agent", tolerations)}
}

func metricsServer(c configuration) []client.Object {
	return []client.Object{deployment(c, "metrics-server", []string{"replicas"}, []string{"tolerations"})}
}

func template(name string, tolerations []corev1.Toleration) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app.kubernetes.io/name": name}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Tolerations: tolerations, Containers: []corev1.Container{{Name: name}}},
	}
}

func daemonSet(name string, tolerations []corev1.Toleration) *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	ds.Spec.Selector, ds.Spec.Template = template(name, tolerations)
	return ds
}

func deployment(c configuration, name string, count, tolerated []string) *appsv1.Deployment {
	var n int32
	var tolerations []corev1.Toleration
	c.read(&n, count...)
	c.read(&tolerations, tolerated...)
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	d.Spec.Replicas = &n
	d.Spec.Selector, d.Spec.Template = template(name, tolerations)
	return d
}

func mount(ds *appsv1.DaemonSet, path string) {
	ds.Spec.Template.Spec.Volumes = append(ds.Spec.Template.Spec.Volumes, corev1.Volume{
		Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}},
	})
}
