package doctor

import (
	"cmp"
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
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cluster/hpa"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/control"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/unknown"
	"github.com/millwright-dev/millwright/doctor/webhook"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Inventory is what is examined. Objects are read only. It is not safe for concurrent use.
type Inventory struct {
	Pools          []*karpv1.NodePool
	DaemonSets     []*appsv1.DaemonSet
	Workloads      []Workload // Deployments and StatefulSets
	CronJobs       []*batchv1.CronJob
	Jobs           []*batchv1.Job
	PDBs           []*policyv1.PodDisruptionBudget
	StorageClasses []*storagev1.StorageClass
	Drivers        []*storagev1.CSIDriver
	Claims         []*corev1.PersistentVolumeClaim
	Policies       []*v1alpha1.NodePolicy
	// Classes are those of EC2.
	Classes  []*awsv1.EC2NodeClass
	Webhooks []webhook.Webhook
	// Groups are the nodes that are no pool's, by name.
	Groups []NodeGroup
	// Queues are those of the cloud's announcements.
	Queues []account.Queue
	// Account is that of the cloud.
	Account account.Account
	// Served are custom resources, by their definitions.
	Served []*apiextensionsv1.CustomResourceDefinition
	// Flows say whose requests the API server answers first.
	Flows           []*flowcontrolv1.FlowSchema
	Leases          []*coordinationv1.Lease
	NetworkPolicies []*networkingv1.NetworkPolicy
	// APIs are those that the API server has others serve.
	APIs []*apiregistrationv1.APIService
	// Services say whose pods a webhook asks.
	Services []*corev1.Service
	// Nodes are all, also those of a group.
	Nodes []*corev1.Node
	// Complete says that this is a whole cluster, so that what is not there does not exist.
	Complete bool
	// Types are the instance types that a pool may choose from; nil where that is not known. An
	// error means that its node class cannot be launched from, which other checks tell.
	Types func(*karpv1.NodePool) ([]*catalog.Type, error)

	unknown    []*unknown.Object
	schedulers []control.Scheduler
	owners     map[plan.ObjectRef]string            // what the controller that keeps an object makes it from
	ciliumKey  string                               // of the taint that Cilium is told to take off nodes, empty if that is not known
	labels     map[*karpv1.NodePool]requirement.Set // those of each pool's nodes, once they were asked for
}

// Workload is what keeps a number of pods alike.
type Workload struct {
	Ref      plan.ObjectRef
	Replicas int32
	Template *corev1.PodTemplateSpec
	// Volumes are of the claims that are made for each pod.
	Volumes []corev1.PersistentVolumeClaim
	// Scaler is the autoscaler that sets Replicas, nil if there is none.
	Scaler *autoscalingv2.HorizontalPodAutoscaler
	// Annotations are its own, not those of its pods.
	Annotations map[string]string
	// Recreates says that the pods of a Deployment end before their successors begin.
	Recreates bool

	class *snapshot.Class
}

func workload(kind string, o client.Object, n *int32, t *corev1.PodTemplateSpec) Workload {
	return Workload{Ref: refOf(kind, o), Replicas: ptr.Deref(n, 1), Template: t, Annotations: o.GetAnnotations(), class: class(o.GetNamespace(), t)}
}

// New sorts objects by their kinds, each kind by namespace and name. Kinds that no check looks
// at are left out.
func New(objects []client.Object, complete bool) *Inventory {
	in := &Inventory{Complete: complete, owners: map[plan.ObjectRef]string{}}
	scalers := map[hpa.Target]*autoscalingv2.HorizontalPodAutoscaler{}
	for _, o := range slices.SortedStableFunc(slices.Values(objects), func(a, b client.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	}) {
		if owner := metav1.GetControllerOf(o); owner != nil {
			in.owners[refOf(KindOf(o), o)] = strings.ToLower(owner.Kind) + "/" + owner.Name
		}
		in.add(in.known(o), scalers)
	}
	for i := range in.Workloads {
		w := &in.Workloads[i]
		w.Scaler = scalers[hpa.Target{Kind: w.Ref.Kind, Namespace: w.Ref.Namespace, Name: w.Ref.Name}]
		w.Replicas = hpa.Replicas(w.Scaler, w.Replicas)
	}
	return in
}

// add takes one object in, an autoscaler apart.
func (in *Inventory) add(o client.Object, scalers map[hpa.Target]*autoscalingv2.HorizontalPodAutoscaler) {
	switch o := o.(type) {
	case *karpv1.NodePool:
		in.Pools = append(in.Pools, o)
	case *appsv1.DaemonSet:
		in.DaemonSets = append(in.DaemonSets, o)
	case *appsv1.Deployment:
		w := workload("Deployment", o, o.Spec.Replicas, &o.Spec.Template)
		w.Recreates = o.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
		in.Workloads = append(in.Workloads, w)
	case *appsv1.StatefulSet:
		w := workload("StatefulSet", o, o.Spec.Replicas, &o.Spec.Template)
		w.Volumes = o.Spec.VolumeClaimTemplates
		in.Workloads = append(in.Workloads, w)
	case *autoscalingv2.HorizontalPodAutoscaler:
		scalers[hpa.Of(o)] = o
	case *batchv1.CronJob:
		in.CronJobs = append(in.CronJobs, o)
	case *batchv1.Job:
		in.Jobs = append(in.Jobs, o)
	case *policyv1.PodDisruptionBudget:
		in.PDBs = append(in.PDBs, o)
	case *storagev1.StorageClass:
		in.StorageClasses = append(in.StorageClasses, o)
	case *storagev1.CSIDriver:
		in.Drivers = append(in.Drivers, o)
	case *corev1.PersistentVolumeClaim:
		in.Claims = append(in.Claims, o)
	case *v1alpha1.NodePolicy:
		in.Policies = append(in.Policies, o)
	case *awsv1.EC2NodeClass:
		in.Classes = append(in.Classes, o)
	case *admissionv1.ValidatingWebhookConfiguration:
		in.Webhooks = append(in.Webhooks, webhook.Validating(o)...)
	case *admissionv1.MutatingWebhookConfiguration:
		in.Webhooks = append(in.Webhooks, webhook.Mutating(o)...)
	case *apiextensionsv1.CustomResourceDefinition:
		in.Served = append(in.Served, o)
	case *flowcontrolv1.FlowSchema:
		in.Flows = append(in.Flows, o)
	case *coordinationv1.Lease:
		in.Leases = append(in.Leases, o)
	case *networkingv1.NetworkPolicy:
		in.NetworkPolicies = append(in.NetworkPolicies, o)
	case *apiregistrationv1.APIService:
		in.APIs = append(in.APIs, o)
	case *corev1.Service:
		in.Services = append(in.Services, o)
	case *corev1.ConfigMap:
		in.addConfig(o)
	case *control.KubeSchedulerConfiguration:
		in.schedulers = append(in.schedulers, control.Scheduler{Ref: refOf("KubeSchedulerConfiguration", o), Config: &o.KubeSchedulerConfiguration})
	case *corev1.Node:
		in.addNode(o)
	}
}

func (in *Inventory) addConfig(o *corev1.ConfigMap) {
	in.schedulers = append(in.schedulers, control.SchedulersIn(o)...)
	if o.Name == "cilium-config" {
		in.ciliumKey = o.Data["agent-not-ready-taint-key"]
	}
}

func (in *Inventory) addNode(n *corev1.Node) {
	in.Nodes = append(in.Nodes, n)
	if g, ok := groupOf(n); ok {
		in.Add(g)
	}
}

// known is an object without the fields that its kind does not have, which are kept apart.
func (in *Inventory) known(o client.Object) client.Object {
	full, ok := o.(*unknown.Object)
	if !ok {
		return o
	}
	in.unknown = append(in.unknown, full)
	return full.Object
}

func refOf(kind string, o client.Object) plan.ObjectRef {
	return finding.RefOf(kind, o)
}
