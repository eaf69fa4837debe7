package csi

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// PluginLabel on a DaemonSet's pods makes them the node plugin of the driver
// that is its value.
const PluginLabel = knobs.Prefix + "csi-driver"

// byPlugin is the pod informer's index on driver and node.
const byPlugin = "sandbox-by-csi-plugin"

// Plugins knows where node plugins run. Safe for concurrent use, apart from
// Notify, which is for the time before the informers start.
type Plugins struct {
	pods    cache.Indexer
	daemons appslisters.DaemonSetLister
	notify  []func(node string)
}

// NewPlugins registers with the informers, which the caller starts afterwards.
func NewPlugins(factory informers.SharedInformerFactory) (*Plugins, error) {
	pods := factory.Core().V1().Pods().Informer()
	daemons := factory.Apps().V1().DaemonSets()
	p := &Plugins{pods: pods.GetIndexer(), daemons: daemons.Lister()}
	err := pods.AddIndexers(cache.Indexers{byPlugin: func(obj any) ([]string, error) {
		pod := obj.(*corev1.Pod)
		if driver := pod.Labels[PluginLabel]; driver != "" {
			return []string{pluginKey(driver, pod.Spec.NodeName)}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, err
	}
	if err := p.on(pods, p.podChanged); err != nil {
		return nil, err
	}
	return p, p.on(daemons.Informer(), p.daemonChanged)
}

// Present says whether the driver can work on the node now.
func (p *Plugins) Present(driver, node string) bool {
	if !p.needed(driver) {
		return true
	}
	pods, err := p.pods.ByIndex(byPlugin, pluginKey(driver, node))
	if err != nil {
		return false // the index exists
	}
	for _, obj := range pods {
		if obj.(*corev1.Pod).Status.Phase == corev1.PodRunning {
			return true
		}
	}
	return false
}

// Notify registers a function that is called when Present may have changed for
// a node, or for all nodes if the name is empty.
func (p *Plugins) Notify(fn func(node string)) { p.notify = append(p.notify, fn) }

// needed says whether a DaemonSet plays the plugin of the driver.
func (p *Plugins) needed(driver string) bool {
	found := false
	each(func(s labels.Selector) ([]*appsv1.DaemonSet, error) { return p.daemons.List(s) }, func(d *appsv1.DaemonSet) {
		found = found || d.Spec.Template.Labels[PluginLabel] == driver
	})
	return found
}

func (p *Plugins) on(informer cache.SharedIndexInformer, changed func(any)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			changed(obj)
		},
	})
	return err
}

func (p *Plugins) podChanged(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Labels[PluginLabel] != "" && pod.Spec.NodeName != "" {
		p.tell(pod.Spec.NodeName)
	}
}

func (p *Plugins) daemonChanged(obj any) {
	if d, ok := obj.(*appsv1.DaemonSet); ok && d.Spec.Template.Labels[PluginLabel] != "" {
		p.tell("")
	}
}

func (p *Plugins) tell(node string) {
	for _, fn := range p.notify {
		fn(node)
	}
}

func pluginKey(driver, node string) string { return driver + "/" + node }
