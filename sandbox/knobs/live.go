package knobs

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

// The ConfigMap that holds the settings.
const (
	Namespace = metav1.NamespaceSystem
	ConfigMap = "sandbox-config"
)

// Live follows the ConfigMap. A state of it that is not valid is reported with
// an event on the object, and the last valid one stays in force. Safe for
// concurrent use.
type Live struct {
	factory  informers.SharedInformerFactory
	recorder record.EventRecorder
	current  atomic.Pointer[Settings]
	changed  []func()
}

// NewLive makes a Live that starts out with the defaults.
func NewLive(client kubernetes.Interface, recorder record.EventRecorder) *Live {
	onlyOurs := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, ConfigMap).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(Namespace), onlyOurs)
	l := &Live{factory: factory, recorder: recorder}
	l.current.Store(&Settings{})
	return l
}

// OnChange registers a function to call after every change. Not after Start.
func (l *Live) OnChange(fn func()) { l.changed = append(l.changed, fn) }

// Settings is the state in force now.
func (l *Live) Settings() Settings { return *l.current.Load() }

// Start begins to follow the object, until ctx ends, and returns when its
// present state is in force.
func (l *Live) Start(ctx context.Context) error {
	handlers, err := l.factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { l.take(obj.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, obj any) { l.take(obj.(*corev1.ConfigMap)) },
		DeleteFunc: func(any) { l.put(Settings{}) },
	})
	if err != nil {
		return err
	}
	l.factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), handlers.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

// Shutdown waits for the informer to end; the context of Start must have ended.
func (l *Live) Shutdown() { l.factory.Shutdown() }

func (l *Live) take(cm *corev1.ConfigMap) {
	s, err := Parse(cm.Data)
	if err != nil {
		klog.ErrorS(err, "Keeping the previous settings", "configMap", klog.KObj(cm))
		l.recorder.Eventf(cm, corev1.EventTypeWarning, "InvalidSettings", "previous settings stay in force: %v", err)
		return
	}
	l.put(s)
}

func (l *Live) put(s Settings) {
	l.current.Store(&s)
	for _, fn := range l.changed {
		fn()
	}
}
