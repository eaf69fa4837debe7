package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/sandbox"
	"github.com/millwright-dev/millwright/sandbox/controlplane"
	"github.com/millwright-dev/millwright/sandbox/csi"
	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// TestCluster runs everything on one cluster, since a process has one at a time.
func TestCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := sandbox.Start(ctx, sandbox.Config{FastNodeFailure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	config := cluster.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	side := map[string]func(*testing.T){
		"Deployment":   func(t *testing.T) { testDeployment(newWorld(t, client, 2)) },
		"Disruption":   func(t *testing.T) { testDisruptionBudget(newWorld(t, client, 2)) },
		"Volume":       func(t *testing.T) { testVolumeIsAttachedAndDetached(newWorld(t, client, 1)) },
		"DetachHang":   func(t *testing.T) { testDetachHangs(newWorld(t, client, 1)) },
		"SecondAttach": func(t *testing.T) { testSecondAttachIsRefused(newWorld(t, client, 2)) },
		"Silent":       func(t *testing.T) { testSilentKubelet(newWorld(t, client, 1)) },
		"Reuse":        func(t *testing.T) { testNodeNameIsReused(newWorld(t, client, 1)) },
		"Daemon":       func(t *testing.T) { testDaemonSet(newWorld(t, client, 2)) },
		"Job":          func(t *testing.T) { testJobCompletes(newWorld(t, client, 1)) },
		"Account":      func(t *testing.T) { testAccountMayDoWhatItsRoleSays(newWorld(t, client, 0), cluster.RESTConfig()) },
		"Register":     func(t *testing.T) { testLateRegistration(newWorld(t, client, 1)) },
		"Kubelet":      func(t *testing.T) { testKubeletWritesItsOwnOnly(newWorld(t, client, 2), cluster) },
		"Second":       func(t *testing.T) { testSecondClusterIsRefused(t) },
	}
	t.Run("side by side", func(t *testing.T) {
		for name, test := range side {
			t.Run(name, test)
		}
	})
	// A DaemonSet with the plugin concerns the volumes of all nodes.
	t.Run("Plugin", func(t *testing.T) { testUnmountNeedsThePlugin(newSerialWorld(t, client, 1)) })
}

func testDeployment(w *world) {
	w.deploy(10, w.template())
	w.eventually("pods run", w.count(10, running))
	addresses := map[string]bool{}
	for _, p := range w.pods(anyPod) {
		addresses[p.Status.PodIP] = true
	}
	if len(addresses) != 10 {
		w.Errorf("10 pods have %d addresses", len(addresses))
	}
}

func testDisruptionBudget(w *world) {
	template := w.template()
	template.Annotations[knobs.Prefix+"start-delay"] = "2s"
	w.deploy(2, template)
	one := intstr.FromInt32(1)
	_, err := w.client.PolicyV1().PodDisruptionBudgets(w.ns).Create(w.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: w.labels()}},
	}, metav1.CreateOptions{})
	w.must(err)
	w.eventually("pods run", w.count(2, running))
	evict := func(name string) error {
		return w.client.PolicyV1().Evictions(w.ns).Evict(w.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}})
	}
	pods := w.pods(running)
	w.eventually("first eviction", func() error { return evict(pods[0].Name) })
	if err := evict(pods[1].Name); !apierrors.IsTooManyRequests(err) {
		w.Fatalf("second eviction: %v", err)
	}
	w.eventually("eviction after the replacement runs", func() error { return evict(pods[1].Name) })
}

func testVolumeIsAttachedAndDetached(w *world) {
	w.database()
	w.eventually("pod runs", w.count(1, running))
	attachments := w.attachments()
	if len(attachments) != 1 || !attachments[0].Status.Attached {
		w.Fatalf("attachments are %v", attachments)
	}
	pv, err := w.client.CoreV1().PersistentVolumes().Get(w.ctx, *attachments[0].Spec.Source.PersistentVolumeName, metav1.GetOptions{})
	w.must(err)
	if got := pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values; !slices.Equal(got, []string{zone}) {
		w.Errorf("volume is in %v", got)
	}
	if n := len(w.node(0).Status.VolumesInUse); n != 1 {
		w.Errorf("%d volumes in use", n)
	}
	w.scaleDatabase(0)
	w.eventually("volume is detached", w.noAttachments)
	if n := len(w.node(0).Status.VolumesInUse); n != 0 {
		w.Errorf("%d volumes in use", n)
	}
	w.must(w.client.CoreV1().PersistentVolumeClaims(w.ns).Delete(w.ctx, "data-db-0", metav1.DeleteOptions{}))
	w.eventually("volume is deleted", func() error {
		_, err := w.client.CoreV1().PersistentVolumes().Get(w.ctx, pv.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it exists"), err)
	})
}

func testDetachHangs(w *world) {
	key, err := knobs.Key(knobs.DetachHang, knobs.ScopeNode, w.nodeName(0))
	w.must(err)
	w.must(knobs.Edit(w.ctx, w.client, func(data map[string]string) { data[key] = "true" }))
	w.database()
	w.eventually("pod runs", w.count(1, running))
	w.scaleDatabase(0)
	hangs := func() error {
		if a := w.attachments(); len(a) != 1 || a[0].DeletionTimestamp == nil {
			return fmt.Errorf("attachments are %v", a)
		}
		return nil
	}
	w.eventually("detach begins", hangs)
	w.during("detach hangs", hangs)
	w.must(knobs.Edit(w.ctx, w.client, func(data map[string]string) { delete(data, key) }))
	w.eventually("detach ends", w.noAttachments)
}

func testSecondAttachIsRefused(w *world) {
	_, err := w.client.CoreV1().PersistentVolumes().Create(w.ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: csi.DefaultName, VolumeHandle: w.ns},
			},
		},
	}, metav1.CreateOptions{})
	w.must(err)
	client := w.client.StorageV1().VolumeAttachments()
	attach := func(node int) {
		_, err := client.Create(w.ctx, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: w.nodeName(node)},
			Spec: storagev1.VolumeAttachmentSpec{
				Attacher: csi.DefaultName, NodeName: w.nodeName(node),
				Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &w.ns},
			},
		}, metav1.CreateOptions{})
		w.must(err)
	}
	status := func(node int) storagev1.VolumeAttachmentStatus {
		a, err := client.Get(w.ctx, w.nodeName(node), metav1.GetOptions{})
		w.must(err)
		return a.Status
	}
	attached := func(node int) func() error {
		return func() error {
			if s := status(node); !s.Attached {
				return fmt.Errorf("status is %v", s)
			}
			return nil
		}
	}
	attach(0)
	w.eventually("first attach", attached(0))
	attach(1)
	w.eventually("second attach is refused", func() error {
		if s := status(1); s.AttachError == nil {
			return fmt.Errorf("status is %v", s)
		}
		return nil
	})
	w.during("second attach waits", func() error {
		if status(1).Attached {
			return errors.New("attached twice")
		}
		return nil
	})
	w.must(client.Delete(w.ctx, w.nodeName(0), metav1.DeleteOptions{}))
	w.eventually("second attach goes on", attached(1))
}

func testSilentKubelet(w *world) {
	w.deploy(1, w.template())
	w.eventually("pod runs", w.count(1, running))
	w.patchNode(0, `{"metadata":{"annotations":{"sandbox.millwright.dev/kubelet":"silent"}}}`)
	w.eventually("node is unreachable", func() error {
		n := w.node(0)
		tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
		if nodeReady(n) != corev1.ConditionUnknown || !tainted {
			return fmt.Errorf("ready is %s, taints are %v", nodeReady(n), n.Spec.Taints)
		}
		return nil
	})
	w.eventually("pod is evicted", w.count(1, terminating))
	w.during("pod stays, for nobody is there to end it", w.count(1, terminating))
	w.patchNode(0, `{"metadata":{"annotations":{"sandbox.millwright.dev/kubelet":null}}}`)
	w.eventually("pod goes", w.count(0, terminating))
	w.eventually("its successor runs on the node", w.count(1, running))
}

func testNodeNameIsReused(w *world) {
	w.deploy(1, w.template())
	w.eventually("pod runs", w.count(1, running))
	first := w.pods(running)[0]
	w.must(w.client.CoreV1().Nodes().Delete(w.ctx, w.nodeName(0), metav1.DeleteOptions{}))
	w.eventually("pod goes with its node", func() error {
		_, err := w.client.CoreV1().Pods(w.ns).Get(w.ctx, first.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it exists"), err)
	})
	again := w.addNode(0)
	w.eventually("the next one runs", w.count(1, running))
	owner := func() error {
		lease, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(w.ctx, again.Name, metav1.GetOptions{})
		if err == nil && lease.OwnerReferences[0].UID != again.UID {
			err = errors.New("the lease belongs to the first node")
		}
		return err
	}
	w.eventually("the lease is that of the new node", owner)
}

func testDaemonSet(w *world) {
	w.daemon(w.labels(), map[string]string{"world": w.ns})
	w.eventually("a pod on each node", w.count(2, running))
	w.addNode(2)
	w.eventually("one on the new node", w.count(3, running))
}

func testJobCompletes(w *world) {
	template := w.template()
	template.Annotations[knobs.Prefix+"run-for"] = "200ms"
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := w.client.BatchV1().Jobs(w.ns).Create(w.ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: batchv1.JobSpec{Template: template},
	}, metav1.CreateOptions{})
	w.must(err)
	w.eventually("job is complete", func() error {
		job, err := w.client.BatchV1().Jobs(w.ns).Get(w.ctx, "job", metav1.GetOptions{})
		if err == nil && job.Status.Succeeded != 1 {
			err = fmt.Errorf("status is %v", job.Status)
		}
		return err
	})
}

func testAccountMayDoWhatItsRoleSays(w *world, config *rest.Config) {
	_, err := w.client.CoreV1().ServiceAccounts(w.ns).Create(w.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.client.RbacV1().Roles(w.ns).Create(w.ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}}},
	}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.client.RbacV1().RoleBindings(w.ns).Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.ns, Name: "reader"}},
	}, metav1.CreateOptions{})
	w.must(err)
	token, err := w.client.CoreV1().ServiceAccounts(w.ns).CreateToken(w.ctx, "reader", &authv1.TokenRequest{}, metav1.CreateOptions{})
	w.must(err)
	config.BearerToken = token.Status.Token
	reader, err := kubernetes.NewForConfig(config)
	w.must(err)
	w.eventually("pods may be listed", func() error {
		_, err := reader.CoreV1().Pods(w.ns).List(w.ctx, metav1.ListOptions{})
		return err
	})
	if _, err := reader.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		w.Errorf("listing nodes: %v", err)
	}
}

func testLateRegistration(w *world) {
	drivers := func(want int) func() error {
		return func() error {
			n, err := w.client.StorageV1().CSINodes().Get(w.ctx, w.nodeName(0), metav1.GetOptions{})
			if err == nil && len(n.Spec.Drivers) != want {
				err = fmt.Errorf("drivers are %v", n.Spec.Drivers)
			}
			return err
		}
	}
	w.eventually("driver is registered", drivers(1))
	w.patchNode(0, `{"metadata":{"annotations":{"sandbox.millwright.dev/csi-register-delay":"1h"}}}`)
	w.eventually("driver is late", drivers(0))
	w.patchNode(0, `{"metadata":{"annotations":{"sandbox.millwright.dev/csi-register-delay":null}}}`)
	w.eventually("driver is registered again", drivers(1))
}

func testSecondClusterIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.Start(t.Context(), sandbox.Config{}); !errors.Is(err, controlplane.ErrRunning) {
		t.Errorf("got %v", err)
	}
}

func testUnmountNeedsThePlugin(w *world) {
	w.patchNode(0, `{"metadata":{"labels":{"plugin":"yes"}}}`)
	plugin := map[string]string{csi.PluginLabel: csi.DefaultName}
	w.daemon(plugin, map[string]string{"world": w.ns, "plugin": "yes"})
	w.database()
	w.eventually("plugin and database run", w.count(2, running))
	isPlugin := func(p *corev1.Pod) bool { return p.Labels[csi.PluginLabel] != "" }
	w.patchNode(0, `{"metadata":{"labels":{"plugin":null}}}`)
	w.eventually("plugin is gone", w.count(0, isPlugin))
	w.scaleDatabase(0)
	w.eventually("database is told to stop", w.count(1, terminating))
	w.during("it stays, its volume cannot be unmounted", w.count(1, terminating))
	if a := w.attachments(); len(a) != 1 || a[0].DeletionTimestamp != nil {
		w.Errorf("attachments are %v", a)
	}
	w.patchNode(0, `{"metadata":{"labels":{"plugin":"yes"}}}`)
	w.eventually("it goes once the plugin is back", w.count(0, terminating))
	w.eventually("its volume is detached", w.noAttachments)
}

// A machine's credentials write what belongs to its Node and nothing else.
func testKubeletWritesItsOwnOnly(w *world, cluster *sandbox.Cluster) {
	w.deploy(2, w.template())
	w.eventually("pods run", w.count(2, running))
	own, other := w.nodeName(0), w.nodeName(1)
	rc, err := cluster.NodeConfig(own)
	w.must(err)
	kubelet, err := kubernetes.NewForConfig(rc)
	w.must(err)
	ctx := w.ctx
	label := func(node, key string) error {
		patch := []byte(`{"metadata":{"labels":{"` + key + `":"mine"}}}`)
		_, err := kubelet.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
	for what, err := range map[string]error{
		"label its own Node": label(own, "example.com/rack"),
		"renew its lease":    errOf(kubelet.CoordinationV1().Leases("kube-node-lease").Get(ctx, own, metav1.GetOptions{})),
	} {
		if err != nil {
			w.Errorf("a kubelet cannot %s: %v", what, err)
		}
	}
	taint := []byte(`{"spec":{"taints":[{"key":"mine","effect":"NoSchedule"}]}}`)
	for what, err := range map[string]error{
		"label another Node":                    label(other, "example.com/rack"),
		"label its Node with what is protected": label(own, "node-restriction.kubernetes.io/team"),
		"taint its own Node":                    errOf(kubelet.CoreV1().Nodes().Patch(ctx, own, types.MergePatchType, taint, metav1.PatchOptions{})),
		"delete its own Node":                   kubelet.CoreV1().Nodes().Delete(ctx, own, metav1.DeleteOptions{}),
		"renew the lease of another":            errOf(kubelet.CoordinationV1().Leases("kube-node-lease").Get(ctx, other, metav1.GetOptions{})),
		"remove the plugins of another":         kubelet.StorageV1().CSINodes().Delete(ctx, other, metav1.DeleteOptions{}),
		"read secrets":                          errOf(kubelet.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})),
		"detach volumes":                        kubelet.StorageV1().VolumeAttachments().Delete(ctx, "any", metav1.DeleteOptions{}),
	} {
		if !apierrors.IsForbidden(err) {
			w.Errorf("a kubelet that wants to %s is answered %v", what, err)
		}
	}
	for _, p := range w.pods(anyPod) {
		err := kubelet.CoreV1().Pods(p.Namespace).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
		if mine := p.Spec.NodeName == own; (err == nil) != mine {
			w.Errorf("evicting a pod of %s: %v", p.Spec.NodeName, err)
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
