package csi

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/loop"
	"github.com/millwright-dev/millwright/sandbox/nodeclient"
)

// DefaultName is the driver that clusters on EC2 have.
const DefaultName = "ebs.csi.aws.com"

// Config is what the driver works with.
type Config struct {
	Name string
	// Nodes are the clients that kubelets write with about the driver, Client is that of
	// its controllers.
	Nodes     nodeclient.Source
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // started by the caller after New
	Knobs     *knobs.Live
	Plugins   *Plugins
	Recorder  record.EventRecorder
	Clock     clock.Clock
	// Books are the cloud's; nil is the simulated cloud of cloud/kwok.
	Books Books
}

const workers = 8

// Driver plays one storage driver. Make it with New.
type Driver struct {
	Config
	nodes       *loop.Loop[string]
	claims      *loop.Loop[types.NamespacedName]
	volumes     *loop.Loop[string]
	attachments *loop.Loop[string]
	kept        *loop.Loop[string]
	held        ledger
	cloud       cloudBooks
	since       moments

	nodeLister       corelisters.NodeLister
	claimLister      corelisters.PersistentVolumeClaimLister
	volumeLister     corelisters.PersistentVolumeLister
	classLister      storagelisters.StorageClassLister
	csiNodeLister    storagelisters.CSINodeLister
	attachmentLister storagelisters.VolumeAttachmentLister
}

// New registers the driver with the informers.
func New(cfg Config) (*Driver, error) {
	core, storage := cfg.Informers.Core().V1(), cfg.Informers.Storage().V1()
	if cfg.Books == nil {
		cfg.Books = configMaps{cfg.Client, cfg.Name}
	}
	d := &Driver{
		Config:           cfg,
		nodeLister:       core.Nodes().Lister(),
		claimLister:      core.PersistentVolumeClaims().Lister(),
		volumeLister:     core.PersistentVolumes().Lister(),
		classLister:      storage.StorageClasses().Lister(),
		csiNodeLister:    storage.CSINodes().Lister(),
		attachmentLister: storage.VolumeAttachments().Lister(),
	}
	d.nodes = loop.New("csi-register", workers, d.register)
	d.claims = loop.New("csi-provision", workers, d.provision)
	d.volumes = loop.New("csi-reclaim", workers, d.reclaim)
	d.attachments = loop.New("csi-attach", workers, d.attachment)
	d.kept = loop.New("csi-cloud", 1, d.letGo)
	if err := d.watch(); err != nil {
		return nil, err
	}
	cfg.Plugins.Notify(d.wakeNodes)
	cfg.Knobs.OnChange(d.wakeAll)
	return d, nil
}

// Run plays until ctx ends.
func (d *Driver) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { d.nodes.Run(ctx) })
	wg.Go(func() { d.claims.Run(ctx) })
	wg.Go(func() { d.volumes.Run(ctx) })
	wg.Go(func() { d.attachments.Run(ctx) })
	wg.Go(func() { d.kept.Run(ctx) })
	wg.Wait()
}

func (d *Driver) watch() error {
	core, storage := d.Informers.Core().V1(), d.Informers.Storage().V1()
	byName := func(add func(string)) func(any) {
		return func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				add(key)
			}
		}
	}
	addClaim := func(obj any) {
		if pvc, ok := obj.(*corev1.PersistentVolumeClaim); ok {
			d.claims.Add(types.NamespacedName{Namespace: pvc.Namespace, Name: pvc.Name})
		}
	}
	sources := []struct {
		informer cache.SharedIndexInformer
		add      func(any)
	}{
		{core.Nodes().Informer(), byName(d.nodes.Add)},
		{storage.CSINodes().Informer(), byName(d.nodes.Add)},
		{core.PersistentVolumeClaims().Informer(), addClaim},
		{core.PersistentVolumes().Informer(), byName(d.volumes.Add)},
		{storage.VolumeAttachments().Informer(), byName(d.attachments.Add)},
	}
	for _, s := range sources {
		_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    s.add,
			UpdateFunc: func(before, after any) { s.add(after); d.turned(before, after) },
			DeleteFunc: func(obj any) { s.add(obj); d.wakeKept() },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// turned makes attachments due when an annotation of their node or volume turns
// a knob.
func (d *Driver) turned(before, after any) {
	old, ok := before.(metav1.Object)
	now, ok2 := after.(metav1.Object)
	if !ok || !ok2 || !knobs.AnnotationsChanged(old.GetAnnotations(), now.GetAnnotations()) {
		return
	}
	d.wakeKept()
	switch o := after.(type) {
	case *corev1.Node:
		d.wakeAttachments(func(a *storagev1.VolumeAttachment) bool { return a.Spec.NodeName == o.Name })
	case *corev1.PersistentVolume:
		d.wakeAttachments(func(a *storagev1.VolumeAttachment) bool { return volumeOf(a) == o.Name })
	}
}

// wakeNodes makes a node's registration due; an empty name means all nodes.
func (d *Driver) wakeNodes(node string) {
	if node != "" {
		d.nodes.Add(node)
		return
	}
	each(d.nodeLister.List, func(n *corev1.Node) { d.nodes.Add(n.Name) })
}

// wakeAll makes everything due that a knob may have changed.
func (d *Driver) wakeAll() {
	d.wakeNodes("")
	each(d.claimLister.List, func(c *corev1.PersistentVolumeClaim) {
		d.claims.Add(types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
	})
	d.wakeAttachments(func(*storagev1.VolumeAttachment) bool { return true })
	d.wakeKept()
}

// wakeAttachments makes those attachments due that satisfy which.
func (d *Driver) wakeAttachments(which func(*storagev1.VolumeAttachment) bool) {
	each(d.attachmentLister.List, func(a *storagev1.VolumeAttachment) {
		if which(a) {
			d.attachments.Add(a.Name)
		}
	})
}

// each calls fn for all objects of a lister, whose local cache has no errors.
func each[T any](list func(labels.Selector) ([]T, error), fn func(T)) {
	all, err := list(labels.Everything())
	if err != nil {
		return
	}
	for _, obj := range all {
		fn(obj)
	}
}
