package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/sandbox/agents"
	"github.com/millwright-dev/millwright/sandbox/aws"
	"github.com/millwright-dev/millwright/sandbox/controlplane"
	"github.com/millwright-dev/millwright/sandbox/csi"
	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/kubelet"
	"github.com/millwright-dev/millwright/sandbox/nodeclient"
)

// machines is everything simulated, on one client and one set of informers.
type machines struct {
	cancel  context.CancelFunc
	work    sync.WaitGroup
	events  record.EventBroadcaster
	factory informers.SharedInformerFactory
	live    *knobs.Live
	rest    *rest.Config
	nodes   *nodeclient.Clients
	// cloud is nil without an AWS.
	cloud *aws.Server
}

// startMachines has kubelets write with the clients of issue and everything else with rc.
func startMachines(ctx context.Context, rc *rest.Config, issue func(node string) (*rest.Config, error), cfg Config, cloud *aws.Server) (*machines, error) {
	client, err := kubernetes.NewForConfig(fast(rc))
	if err != nil {
		return nil, fmt.Errorf("making client: %w", err)
	}
	m := &machines{
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields)),
		events:  record.NewBroadcaster(),
		rest:    rc, cloud: cloud,
		nodes: nodeclient.New(func(node string) (*rest.Config, error) {
			config, err := issue(node)
			if err != nil {
				return nil, err
			}
			return fast(config), nil
		}),
	}
	m.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := m.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "sandbox"})
	m.live = knobs.NewLive(client, recorder)

	err = knobs.Edit(ctx, client, func(data map[string]string) { maps.Copy(data, cfg.Knobs) })
	if err == nil && cloud != nil {
		err = aws.Publish(ctx, client, cloud)
	}
	if err != nil {
		return nil, err
	}
	// What runs in the background outlives the start, which ctx bounds.
	var running context.Context
	running, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := m.start(ctx, running, client, recorder, cfg); err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

// start registers all parts with the informers, starts these and then those.
func (m *machines) start(ctx, running context.Context, client kubernetes.Interface, recorder record.EventRecorder, cfg Config) error {
	plugins, err := csi.NewPlugins(m.factory)
	if err != nil {
		return fmt.Errorf("preparing node plugins: %w", err)
	}
	booter, err := m.booter(client)
	if err != nil {
		return fmt.Errorf("preparing instances: %w", err)
	}
	storage := csi.Config{
		Name: csi.DefaultName, Nodes: m.nodes.Of, Client: client, Informers: m.factory, Knobs: m.live,
		Plugins: plugins, Recorder: recorder, Clock: clock.RealClock{},
	}
	machinery := kubelet.Config{
		Nodes: m.nodes.Of, Client: client, Informers: m.factory, Knobs: m.live, Plugins: plugins, Clock: clock.RealClock{},
		Version: controlplane.KubernetesVersion, FastHeartbeat: cfg.FastNodeFailure,
	}
	helpers := agents.Config{Client: client, Informers: m.factory, Knobs: m.live, Clock: clock.RealClock{}}
	if booter != nil {
		storage.Books, machinery.Alive, helpers.Labels = aws.NewVolumes(m.cloud), booter.Alive, booter.Labels
	}
	driver, err := csi.New(storage)
	if err != nil {
		return fmt.Errorf("preparing storage: %w", err)
	}
	if err := driver.Setup(ctx); err != nil {
		return err
	}
	kubelets, err := kubelet.New(machinery)
	if err != nil {
		return fmt.Errorf("preparing kubelets: %w", err)
	}
	others, err := agents.New(helpers)
	if err != nil {
		return fmt.Errorf("preparing agents: %w", err)
	}
	if err := m.forgetNodes(); err != nil {
		return fmt.Errorf("following nodes: %w", err)
	}
	podGC := controlplane.NewPodGC(running, client, m.factory)

	m.factory.Start(running.Done())
	m.factory.WaitForCacheSync(ctx.Done())
	if err := m.live.Start(running); err != nil {
		return fmt.Errorf("following settings: %w", err)
	}
	parts := []func(context.Context){driver.Run, kubelets.Run, others.Run, podGC}
	if booter != nil {
		booter.Kubelets = kubelets
		parts = append(parts, booter.Run)
	}
	for _, run := range parts {
		m.work.Go(func() { run(running) })
	}
	return context.Cause(ctx)
}

// forgetNodes closes the connections of machines that are gone.
func (m *machines) forgetNodes() error {
	_, err := m.factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			m.nodes.Forget(name)
		}
	}})
	return err
}

// booter boots the instances of AWS; nil without one.
func (m *machines) booter(client kubernetes.Interface) (*aws.Booter, error) {
	if m.cloud == nil {
		return nil, nil
	}
	return aws.NewBooter(aws.BooterConfig{
		Server: m.cloud, Nodes: m.nodes.Of, Client: client, Informers: m.factory, Knobs: m.live, Clock: clock.RealClock{},
		Endpoint: m.rest.Host, CA: m.rest.CAData,
	})
}

// serveAWS starts an AWS that knows the cluster.
func serveAWS(c *AWS, rc *rest.Config) (*aws.Server, error) {
	version := strings.Split(strings.TrimPrefix(controlplane.KubernetesVersion, "v"), ".")
	return aws.Serve(aws.ServerConfig{
		Listen: cmp.Or(c.Listen, "127.0.0.1:0"), Cluster: c.Cluster, Version: version[0] + "." + version[1],
		Endpoint: rc.Host, CA: rc.CAData, ServiceCIDR: controlplane.ServiceCIDR,
	})
}

// stop ends everything and waits for it.
func (m *machines) stop() {
	m.cancel()
	m.work.Wait()
	m.factory.Shutdown()
	m.live.Shutdown()
	m.events.Shutdown()
}

// fast is a client configuration for a server that has no other clients.
func fast(rc *rest.Config) *rest.Config {
	rc.QPS = -1
	rc.ContentType = runtime.ContentTypeProtobuf
	rc.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return rc
}

// withoutManagedFields drops what takes most room in the caches and is not
// read here. The API server keeps them through an update that has none.
func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
