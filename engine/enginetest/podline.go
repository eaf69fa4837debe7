package enginetest

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
)

// demand adds what a pod asks of its node, beyond CPU and memory.
func demand(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	main := &p.Spec.Containers[0]
	maps.Copy(main.Resources.Requests, amounts(t, c.Options["more"]))
	if c.Has("limits") {
		main.Resources.Limits = amounts(t, c.Options["limits"])
		for name := range main.Resources.Limits {
			delete(main.Resources.Requests, name)
		}
	}
	if c.Has("init") {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "init", Resources: corev1.ResourceRequirements{Requests: amounts(t, c.Options["init"])}})
	}
	if c.Has("sidecar") {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
			Name: "sidecar", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Requests: amounts(t, c.Options["sidecar"])}})
	}
	if c.Has("late-init") {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "late", Resources: corev1.ResourceRequirements{Requests: amounts(t, c.Options["late-init"])}})
	}
	if c.Has("second") {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Resources: corev1.ResourceRequirements{Requests: amounts(t, c.Options["second"])}})
	}
	if c.Has("overhead") {
		p.Spec.Overhead = amounts(t, c.Options["overhead"])
	}
	if c.Has("pod-level") {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts(t, c.Options["pod-level"])}
	}
	resize(t, c, p)
}

// resize says how far the kubelet has come with a change of a running pod:
// actual is what it has, allocated what it has been promised.
func resize(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	if !c.Has("actual") {
		return
	}
	actual, allocated := amounts(t, c.Options["actual"]), amounts(t, option(c, "allocated", c.Options["actual"]))
	if p.Spec.Resources != nil {
		p.Status.Resources, p.Status.AllocatedResources = &corev1.ResourceRequirements{Requests: actual}, allocated
	} else {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: allocated, Resources: &corev1.ResourceRequirements{Requests: actual}}}
	}
	if c.Has("resize") {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: c.Options["resize"]})
	}
}

// circumstances adds how a pod stands: who cares for it, and how far it has come.
func circumstances(t testing.TB, c storytest.Command, p *corev1.Pod) {
	t.Helper()
	p.Spec.SchedulerName, p.Spec.HostNetwork = c.Options["scheduler"], c.Has("host-network")
	if c.Has("unschedulable") {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
	}
	if c.Has("deleting") {
		p.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	if c.Has("do-not-disrupt") {
		p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": c.Options["do-not-disrupt"]}
	}
	if c.Has("started") {
		p.Status.StartTime = ptr.To(metav1.NewTime(now.Add(-storytest.Duration(t, c.Options["started"]))))
	}
	if c.Has("not-ready") {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
	}
	for _, entry := range list(c.Options["devices"]) {
		kind, name, _ := strings.Cut(entry, ":")
		claim := corev1.PodResourceClaim{Name: name}
		if kind == "template" {
			claim.ResourceClaimTemplateName = &name
		} else {
			claim.ResourceClaimName = &name
		}
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, claim)
	}
	mount(c, p)
}

// mount adds volumes that are no claims of the pod's choice.
func mount(c storytest.Command, p *corev1.Pod) {
	add := func(name string, source corev1.VolumeSource) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	}
	for _, entry := range list(c.Options["ephemeral"]) {
		name, class, _ := strings.Cut(entry, ":")
		add(name, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}}}})
	}
	for _, driver := range list(c.Options["inline-csi"]) {
		add("inline", corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}})
	}
	for _, disk := range list(c.Options["ebs"]) {
		add(disk, corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: disk}})
	}
	for _, entry := range list(c.Options["gce-disk"]) {
		disk, mode, _ := strings.Cut(entry, ":")
		add(disk, corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: disk, ReadOnly: mode == "ro"}})
	}
}

// pdb makes a disruption budget.
func (s *Scenario) pdb(c storytest.Command) {
	p := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: option(c, "namespace", "default"), Name: c.Args[0]}}
	p.Spec.Selector = &metav1.LabelSelector{MatchLabels: exact(c.Options["select"])}
	if c.Has("max-unavailable") {
		p.Spec.MaxUnavailable = ptr.To(intstr.Parse(c.Options["max-unavailable"]))
	}
	if c.Has("min-available") {
		p.Spec.MinAvailable = ptr.To(intstr.Parse(c.Options["min-available"]))
	}
	if c.Has("always-allow") {
		p.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	}
	s.PDBs = append(s.PDBs, p)
}
