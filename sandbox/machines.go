package sandbox

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/sandbox/agents"
	"github.com/millwright-dev/millwright/sandbox/controlplane"
	"github.com/millwright-dev/millwright/sandbox/csi"
	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/kubelet"
)

// machines is everything simulated, on one client and one set of informers.
type machines struct {
	cancel  context.CancelFunc
	work    sync.WaitGroup
	events  record.EventBroadcaster
	factory informers.SharedInformerFactory
	live    *knobs.Live
}

func startMachines(ctx context.Context, rc *rest.Config, cfg Config) (*machines, error) {
	client, err := kubernetes.NewForConfig(fast(rc))
	if err != nil {
		return nil, fmt.Errorf("making client: %w", err)
	}
	m := &machines{
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(withoutManagedFields)),
		events:  record.NewBroadcaster(),
	}
	m.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := m.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "sandbox"})
	m.live = knobs.NewLive(client, recorder)

	err = knobs.Edit(ctx, client, func(data map[string]string) { maps.Copy(data, cfg.Knobs) })
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
	driver, err := csi.New(csi.Config{
		Name: csi.DefaultName, Client: client, Informers: m.factory, Knobs: m.live,
		Plugins: plugins, Recorder: recorder, Clock: clock.RealClock{},
	})
	if err != nil {
		return fmt.Errorf("preparing storage: %w", err)
	}
	if err := driver.Setup(ctx); err != nil {
		return err
	}
	kubelets, err := kubelet.New(kubelet.Config{
		Client: client, Informers: m.factory, Knobs: m.live, Plugins: plugins, Clock: clock.RealClock{},
		Version: controlplane.KubernetesVersion, FastHeartbeat: cfg.FastNodeFailure,
	})
	if err != nil {
		return fmt.Errorf("preparing kubelets: %w", err)
	}
	others, err := agents.New(agents.Config{Client: client, Informers: m.factory, Knobs: m.live, Clock: clock.RealClock{}})
	if err != nil {
		return fmt.Errorf("preparing agents: %w", err)
	}
	podGC := controlplane.NewPodGC(running, client, m.factory)

	m.factory.Start(running.Done())
	m.factory.WaitForCacheSync(ctx.Done())
	if err := m.live.Start(running); err != nil {
		return fmt.Errorf("following settings: %w", err)
	}
	for _, run := range []func(context.Context){driver.Run, kubelets.Run, others.Run, podGC} {
		m.work.Go(func() { run(running) })
	}
	return context.Cause(ctx)
}

// stop ends everything and waits for it.
func (m *machines) stop() {
	m.cancel()
	m.work.Wait()
	m.factory.Shutdown()
	m.live.Shutdown()
	m.events.Shutdown()
}

// fast is a client configuration for a server nobody else has to share.
func fast(rc *rest.Config) *rest.Config {
	rc.QPS = -1
	rc.ContentType = runtime.ContentTypeProtobuf
	rc.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return rc
}

// withoutManagedFields drops what takes most room in the caches and what nobody
// here reads. The API server keeps them through an update that has none.
func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
