package doctor

import (
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/doctor/control"
	"github.com/millwright-dev/millwright/doctor/unknown"
)

// Kind is one that checks look at. Its Go type is called as it is.
type Kind struct {
	Group string
	// List is an empty list of the version that is read; nil for a kind that is only in files.
	List func() client.ObjectList
	// Custom says that not every cluster serves the kind; one that does not has no such objects.
	Custom bool
	// Alone says that checks of other kinds do without it: a cluster is whole without it, too.
	Alone bool

	object     client.Object // empty
	namespaced bool
}

// Kinds are all that checks look at, in the order in which a cluster is read.
func Kinds() []Kind {
	return []Kind{
		{"karpenter.sh", func() client.ObjectList { return &karpv1.NodePoolList{} }, false, false, &karpv1.NodePool{}, false},
		{"karpenter.k8s.aws", func() client.ObjectList { return &awsv1.EC2NodeClassList{} }, true, false, &awsv1.EC2NodeClass{}, false},
		{v1alpha1.GroupVersion.Group, func() client.ObjectList { return &v1alpha1.NodePolicyList{} }, true, false, &v1alpha1.NodePolicy{}, false},
		{"apps", func() client.ObjectList { return &appsv1.DaemonSetList{} }, false, false, &appsv1.DaemonSet{}, true},
		{"apps", func() client.ObjectList { return &appsv1.DeploymentList{} }, false, false, &appsv1.Deployment{}, true},
		{"apps", func() client.ObjectList { return &appsv1.StatefulSetList{} }, false, false, &appsv1.StatefulSet{}, true},
		{"batch", func() client.ObjectList { return &batchv1.CronJobList{} }, false, false, &batchv1.CronJob{}, true},
		{"batch", func() client.ObjectList { return &batchv1.JobList{} }, false, false, &batchv1.Job{}, true},
		{"policy", func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} }, false, false, &policyv1.PodDisruptionBudget{}, true},
		{"storage.k8s.io", func() client.ObjectList { return &storagev1.StorageClassList{} }, false, false, &storagev1.StorageClass{}, false},
		{"storage.k8s.io", func() client.ObjectList { return &storagev1.CSIDriverList{} }, false, false, &storagev1.CSIDriver{}, false},
		{"", func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} }, false, false, &corev1.PersistentVolumeClaim{}, true},
		{"", func() client.ObjectList { return &corev1.NodeList{} }, false, false, &corev1.Node{}, false},
		{"admissionregistration.k8s.io", func() client.ObjectList { return &admissionv1.ValidatingWebhookConfigurationList{} }, false, false, &admissionv1.ValidatingWebhookConfiguration{}, false},
		{"admissionregistration.k8s.io", func() client.ObjectList { return &admissionv1.MutatingWebhookConfigurationList{} }, false, false, &admissionv1.MutatingWebhookConfiguration{}, false},
		{"apiextensions.k8s.io", func() client.ObjectList { return &apiextensionsv1.CustomResourceDefinitionList{} }, false, true, &apiextensionsv1.CustomResourceDefinition{}, false},
		{"flowcontrol.apiserver.k8s.io", func() client.ObjectList { return &flowcontrolv1.FlowSchemaList{} }, true, true, &flowcontrolv1.FlowSchema{}, false},
		{"coordination.k8s.io", func() client.ObjectList { return &coordinationv1.LeaseList{} }, false, true, &coordinationv1.Lease{}, true},
		{"networking.k8s.io", func() client.ObjectList { return &networkingv1.NetworkPolicyList{} }, false, true, &networkingv1.NetworkPolicy{}, true},
		{apiregistrationv1.GroupName, func() client.ObjectList { return &apiregistrationv1.APIServiceList{} }, true, true, &apiregistrationv1.APIService{}, false},
		{"", func() client.ObjectList { return &corev1.ServiceList{} }, false, true, &corev1.Service{}, true},
		{autoscalingv2.GroupName, func() client.ObjectList { return &autoscalingv2.HorizontalPodAutoscalerList{} }, false, true, &autoscalingv2.HorizontalPodAutoscaler{}, true},
		{"", func() client.ObjectList { return &corev1.ConfigMapList{} }, false, true, &corev1.ConfigMap{}, true},
		{control.SchedulerGroup, nil, false, true, &control.KubeSchedulerConfiguration{}, false},
	}
}

// Namespace is the only one in which a cluster is asked for a kind, empty for all: of ConfigMaps
// those of the system, where schedulers are.
func (k Kind) Namespace() string {
	if _, ok := k.object.(*corev1.ConfigMap); ok {
		return metav1.NamespaceSystem
	}
	return metav1.NamespaceAll
}

// AddToScheme registers the kinds that are neither Kubernetes' own nor in package cluster.
func AddToScheme(s *runtime.Scheme) error {
	if err := awsv1.AddToScheme(s); err != nil {
		return err
	}
	if err := apiregistrationv1.AddToScheme(s); err != nil {
		return err
	}
	return apiextensionsv1.AddToScheme(s)
}

// find is the kind that something holds for; false if there is none.
func find(is func(Kind) bool) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, is)
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

func (k Kind) name() string { return reflect.TypeOf(k.object).Elem().Name() }

// ofGroupKind is the kind that manifests call so.
func ofGroupKind(gvk schema.GroupVersionKind) (Kind, bool) {
	return find(func(k Kind) bool { return k.Group == gvk.Group && k.name() == gvk.Kind })
}

// KindOf is the kind of an object that a check looks at, empty for others.
func KindOf(o client.Object) string {
	if full, ok := o.(*unknown.Object); ok {
		o = full.Object
	}
	k, ok := find(func(k Kind) bool { return reflect.TypeOf(k.object) == reflect.TypeOf(o) })
	if !ok {
		return ""
	}
	return k.name()
}
