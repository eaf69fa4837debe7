package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	bufferv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	overlayv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/doctor/control"
)

// kind is one kind that Read returns.
type kind struct {
	version    string
	namespaced bool
	// how says how it is checked.
	how  check
	make func() client.Object
}

// check says how an object is checked before it is used.
type check int

const (
	// builtIn kinds are checked by the Go types alone.
	builtIn check = iota
	// custom kinds are checked against their CRD.
	custom
	// nodeClass is a custom kind that stays untyped.
	nodeClass
	// examined kinds say nothing about machines or their pods: they count as ignored, and are
	// read for doctor.
	examined
	// nameless is examined, too, and a file that is no object of a cluster's.
	nameless
)

const karpenterGroup = "karpenter.sh"

// kinds are those that say something about machines, about pods that need them, or about which
// pod is the controller. Node classes have no type here: each cloud has its own, and the schema
// of its CRD says all that there is to check.
var kinds = map[schema.GroupKind]kind{
	{Kind: "Pod"}:                   {"v1", true, builtIn, func() client.Object { return &corev1.Pod{} }},
	{Kind: "Node"}:                  {"v1", false, builtIn, func() client.Object { return &corev1.Node{} }},
	{Kind: "PodTemplate"}:           {"v1", true, builtIn, func() client.Object { return &corev1.PodTemplate{} }},
	{Kind: "Namespace"}:             {"v1", false, builtIn, func() client.Object { return &corev1.Namespace{} }},
	{Kind: "PersistentVolume"}:      {"v1", false, builtIn, func() client.Object { return &corev1.PersistentVolume{} }},
	{Kind: "Service"}:               {"v1", true, builtIn, func() client.Object { return &corev1.Service{} }},
	{Kind: "ReplicationController"}: {"v1", true, builtIn, func() client.Object { return &corev1.ReplicationController{} }},
	{Kind: "PersistentVolumeClaim"}: {"v1", true, builtIn, func() client.Object { return &corev1.PersistentVolumeClaim{} }},

	{Group: appsv1.GroupName, Kind: "Deployment"}:  {"v1", true, builtIn, func() client.Object { return &appsv1.Deployment{} }},
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}:  {"v1", true, builtIn, func() client.Object { return &appsv1.ReplicaSet{} }},
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: {"v1", true, builtIn, func() client.Object { return &appsv1.StatefulSet{} }},
	{Group: appsv1.GroupName, Kind: "DaemonSet"}:   {"v1", true, builtIn, func() client.Object { return &appsv1.DaemonSet{} }},
	{Group: batchv1.GroupName, Kind: "Job"}:        {"v1", true, builtIn, func() client.Object { return &batchv1.Job{} }},
	{Group: batchv1.GroupName, Kind: "CronJob"}:    {"v1", true, examined, func() client.Object { return &batchv1.CronJob{} }},

	{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}: {"v2", true, builtIn, func() client.Object { return &autoscalingv2.HorizontalPodAutoscaler{} }},
	{Group: policyv1.GroupName, Kind: "PodDisruptionBudget"}:          {"v1", true, builtIn, func() client.Object { return &policyv1.PodDisruptionBudget{} }},
	{Group: corev1.GroupName, Kind: "LimitRange"}:                     {"v1", true, builtIn, func() client.Object { return &corev1.LimitRange{} }},
	{Group: schedulingv1.GroupName, Kind: "PriorityClass"}:            {"v1", false, builtIn, func() client.Object { return &schedulingv1.PriorityClass{} }},
	{Group: nodev1.GroupName, Kind: "RuntimeClass"}:                   {"v1", false, builtIn, func() client.Object { return &nodev1.RuntimeClass{} }},
	{Group: resourcev1.GroupName, Kind: "DeviceClass"}:                {"v1", false, builtIn, func() client.Object { return &resourcev1.DeviceClass{} }},
	{Group: resourcev1.GroupName, Kind: "ResourceClaim"}:              {"v1", true, builtIn, func() client.Object { return &resourcev1.ResourceClaim{} }},
	{Group: resourcev1.GroupName, Kind: "ResourceClaimTemplate"}:      {"v1", true, builtIn, func() client.Object { return &resourcev1.ResourceClaimTemplate{} }},
	{Group: resourcev1.GroupName, Kind: "ResourceSlice"}:              {"v1", false, builtIn, func() client.Object { return &resourcev1.ResourceSlice{} }},
	{Group: storagev1.GroupName, Kind: "StorageClass"}:                {"v1", false, builtIn, func() client.Object { return &storagev1.StorageClass{} }},
	{Group: storagev1.GroupName, Kind: "CSIDriver"}:                   {"v1", false, examined, func() client.Object { return &storagev1.CSIDriver{} }},
	{Group: storagev1.GroupName, Kind: "CSINode"}:                     {"v1", false, builtIn, func() client.Object { return &storagev1.CSINode{} }},
	{Group: storagev1.GroupName, Kind: "VolumeAttachment"}:            {"v1", false, builtIn, func() client.Object { return &storagev1.VolumeAttachment{} }},

	{Group: admissionv1.GroupName, Kind: "ValidatingWebhookConfiguration"}: {"v1", false, examined, func() client.Object { return &admissionv1.ValidatingWebhookConfiguration{} }},
	{Group: admissionv1.GroupName, Kind: "MutatingWebhookConfiguration"}:   {"v1", false, examined, func() client.Object { return &admissionv1.MutatingWebhookConfiguration{} }},

	{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}: {"v1", false, examined, func() client.Object { return &apiextensionsv1.CustomResourceDefinition{} }},
	{Group: flowcontrolv1.GroupName, Kind: "FlowSchema"}:                 {"v1", false, examined, func() client.Object { return &flowcontrolv1.FlowSchema{} }},
	{Group: coordinationv1.GroupName, Kind: "Lease"}:                     {"v1", true, builtIn, func() client.Object { return &coordinationv1.Lease{} }},
	{Group: networkingv1.GroupName, Kind: "NetworkPolicy"}:               {"v1", true, examined, func() client.Object { return &networkingv1.NetworkPolicy{} }},
	{Group: apiregistrationv1.GroupName, Kind: "APIService"}:             {"v1", false, examined, func() client.Object { return &apiregistrationv1.APIService{} }},
	{Kind: "ConfigMap"}: {"v1", true, examined, func() client.Object { return &corev1.ConfigMap{} }},
	{Group: "kubescheduler.config.k8s.io", Kind: "KubeSchedulerConfiguration"}: {"v1", false, nameless, func() client.Object { return &control.KubeSchedulerConfiguration{} }},

	{Group: karpenterGroup, Kind: "NodePool"}:            {"v1", false, custom, func() client.Object { return &karpv1.NodePool{} }},
	{Group: karpenterGroup, Kind: "NodeClaim"}:           {"v1", false, custom, func() client.Object { return &karpv1.NodeClaim{} }},
	{Group: karpenterGroup, Kind: "NodeOverlay"}:         {"v1alpha1", false, custom, func() client.Object { return &overlayv1alpha1.NodeOverlay{} }},
	{Group: bufferv1beta1.Group, Kind: "CapacityBuffer"}: {"v1beta1", true, custom, func() client.Object { return &bufferv1beta1.CapacityBuffer{} }},
	{Group: v1alpha1.Group, Kind: "NodePolicy"}:          {"v1alpha1", false, custom, func() client.Object { return &v1alpha1.NodePolicy{} }},
	{Group: v1alpha1.Group, Kind: "DisruptionRequest"}:   {"v1alpha1", false, custom, func() client.Object { return &v1alpha1.DisruptionRequest{} }},
	{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass"}:  {"v1alpha1", false, nodeClass, func() client.Object { return &unstructured.Unstructured{} }},
	{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass"}:   {"v1", false, nodeClass, func() client.Object { return &unstructured.Unstructured{} }},
}

// Kinds are all that Read returns, by group and kind.
func Kinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for group, k := range kinds {
		out = append(out, group.WithVersion(k.version))
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}

// meantBy is the kind that is meant by one in the wrong case, or in a group of Kubernetes' own
// that has no such kind, as "Kind (apiVersion: group/version)"; empty if that is not clear.
func meantBy(gvk schema.GroupVersionKind) string {
	for group, k := range kinds {
		right := schema.GroupVersion{Group: group.Group, Version: k.version}
		misspelt := group.Group == gvk.Group && group.Kind != gvk.Kind && strings.EqualFold(group.Kind, gvk.Kind)
		misplaced := group.Kind == gvk.Kind && (gvk.Group == "" || gvk.Group == "extensions")
		if misspelt || misplaced {
			return fmt.Sprintf("%s (apiVersion: %s)", group.Kind, right)
		}
	}
	return ""
}

// IsNodeClass reports whether a kind is a node class that Read knows.
func IsNodeClass(kind schema.GroupKind) bool { return kinds[kind].how == nodeClass }

// NodeClasses are the kinds of node classes that Read knows, as Kind.group, in
// order.
func NodeClasses() []string {
	var out []string
	for kind, k := range kinds {
		if k.how == nodeClass {
			out = append(out, kind.String())
		}
	}
	slices.Sort(out)
	return out
}
