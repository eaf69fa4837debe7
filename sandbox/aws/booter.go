package aws

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/boot"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/loop"
	"github.com/millwright-dev/millwright/sandbox/nodeclient"
)

// Kubelets are those who play the kubelets of Nodes.
type Kubelets interface {
	// Wake has the kubelet of a Node look whether its machine runs, Restart boots it anew.
	Wake(node string)
	Restart(node string)
}

// BooterConfig is what a Booter works with.
type BooterConfig struct {
	Server *Server
	// Nodes are the clients that instances register with, Client is that of the cloud
	// controller manager.
	Nodes     nodeclient.Source
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory // started by the caller after NewBooter
	Knobs     *knobs.Live
	Clock     clock.Clock
	// Endpoint and CA are those that a kubelet must be told to reach the cluster.
	Endpoint string
	CA       []byte
}

const workers = 16

// Booter boots instances. It is safe for concurrent use.
type Booter struct {
	BooterConfig
	// Kubelets is set before Run.
	Kubelets Kubelets

	due    *loop.Loop[string] // by instance ID
	lister corelisters.NodeLister

	mu   sync.Mutex
	byID map[string]*machine
}

// machine is an instance and what became of it.
type machine struct {
	ec2test.Instance
	since time.Time // of its state
	// booted says that its kubelet has started since it last began to run: it has
	// registered its Node, or was refused.
	booted bool
	// boots counts how often it began to run, or rebooted.
	boots int
}

// NewBooter registers a Booter with the informers.
func NewBooter(c BooterConfig) (*Booter, error) {
	nodes := c.Informers.Core().V1().Nodes()
	b := &Booter{BooterConfig: c, lister: nodes.Lister(), byID: map[string]*machine{}}
	b.due = loop.New("ec2", workers, b.sync)
	add := func(obj any) {
		if n, ok := obj.(*corev1.Node); ok {
			if id := instanceOf(n); id != "" {
				b.due.Add(id)
			}
		}
	}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }})
	c.Knobs.OnChange(b.tune)
	return b, err
}

// Run boots until ctx ends.
func (b *Booter) Run(ctx context.Context) {
	b.tune()
	var wg sync.WaitGroup
	wg.Go(func() { b.due.Run(ctx) })
	wg.Go(func() { b.Server.Follow(ctx, b.changed) })
	wg.Wait()
}

// tune hands the knobs on to the emulator.
func (b *Booter) tune() {
	s := b.Knobs.Settings()
	b.Server.EC2.SetDelays(ec2test.Delays{Boot: s.Duration(knobs.EC2BootDelay), Shutdown: s.Duration(knobs.EC2ShutdownDelay), Lag: s.Duration(knobs.EC2Lag)})
}

// changed takes note of an instance's new state.
func (b *Booter) changed(i ec2test.Instance) {
	b.mu.Lock()
	m := b.byID[i.ID]
	if m == nil {
		m = &machine{}
		b.byID[i.ID] = m
	}
	m.Instance, m.since = i, b.Clock.Now()
	if i.State == running {
		m.booted, m.boots = false, m.boots+1
	}
	b.mu.Unlock()
	b.due.Add(i.ID)
}

// EC2's words for states.
const (
	running    = "running"
	stopped    = "stopped"
	terminated = "terminated"
)

func (b *Booter) machine(id string) (machine, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.byID[id]
	if m == nil {
		return machine{}, false
	}
	return *m, true
}

// instanceOf is the ID of a Node's instance, empty if it is none of EC2.
func instanceOf(n *corev1.Node) string {
	if !strings.HasPrefix(n.Spec.ProviderID, "aws:///") {
		return ""
	}
	return n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]
}

// Alive says whether the kubelet of a Node runs: that of an instance does while it does.
func (b *Booter) Alive(n *corev1.Node) bool {
	id := instanceOf(n)
	if id == "" {
		return true
	}
	m, ok := b.machine(id)
	return ok && m.State == running
}

// Labels are what the cloud controller manager says of a Node.
func (b *Booter) Labels(n *corev1.Node) map[string]string {
	m, ok := b.machine(instanceOf(n))
	if !ok {
		return nil
	}
	return map[string]string{
		corev1.LabelInstanceTypeStable: m.Type.Name, corev1.LabelInstanceType: m.Type.Name,
		corev1.LabelTopologyZone: m.Zone, corev1.LabelFailureDomainBetaZone: m.Zone,
		corev1.LabelTopologyRegion: m.Region, corev1.LabelFailureDomainBetaRegion: m.Region,
		"topology.k8s.aws/zone-id": m.ZoneID,
	}
}

// sync does what is due for one instance.
func (b *Booter) sync(ctx context.Context, id string) (time.Duration, error) {
	m, ok := b.machine(id)
	if !ok {
		return 0, nil
	}
	if m.State == running && !m.booted {
		return b.boot(ctx, &m)
	}
	node, err := b.lister.Get(m.DNSName)
	if errors.IsNotFound(err) || err == nil && instanceOf(node) != id {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	stops := m.State == stopped && !ready(node)
	if m.State == running || stops {
		if err := b.taint(ctx, node, stops); err != nil {
			return 0, err
		}
	}
	if m.State != running {
		b.Kubelets.Wake(node.Name)
	}
	if m.State == terminated {
		return 0, b.forget(ctx, node)
	}
	return 0, nil
}

// boot starts an instance's kubelet, once its time has come.
func (b *Booter) boot(ctx context.Context, m *machine) (time.Duration, error) {
	if wait := m.since.Add(b.Knobs.Settings().Duration(knobs.EC2JoinDelay)).Sub(b.Clock.Now()); wait > 0 {
		return wait, nil
	}
	node, err := b.node(&m.Instance)
	if err != nil {
		klog.InfoS("An instance does not join", "instance", m.ID, "image", m.Image.Name, "reason", err.Error())
		b.booted(m, "never joins: "+err.Error())
		return 0, nil
	}
	client, err := b.Nodes(node.Name)
	if err != nil {
		return 0, err
	}
	_, err = client.Core.Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil && !errors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("registering %s: %w", node.Name, err)
	}
	b.booted(m, "joined as "+node.Name)
	if m.boots > 1 {
		b.Kubelets.Restart(node.Name)
	}
	return 0, nil
}

// booted takes note that a kubelet has started, or has ended at once.
func (b *Booter) booted(m *machine, console string) {
	b.Server.control.console(m.ID, console)
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.byID[m.ID]; now.boots == m.boots {
		now.booted = true
		b.due.Add(m.ID) // its Node may be there since an earlier boot
	}
}

// node is what the kubelet of an instance registers. An error is why it does not.
func (b *Booter) node(i *ec2test.Instance) (*corev1.Node, error) {
	data, err := base64.StdEncoding.DecodeString(i.UserData)
	if err != nil {
		return nil, fmt.Errorf("user data: %w", err)
	}
	os := boot.OSOf(i.Image.Name, i.Image.Platform)
	k, err := boot.Read(os, string(data))
	if err != nil {
		return nil, err
	}
	ca, err := base64.StdEncoding.DecodeString(k.CA)
	switch {
	case k.Cluster != b.Server.Cluster:
		return nil, fmt.Errorf("kubelet: the token for cluster %s is not taken by %s", k.Cluster, b.Server.Cluster)
	case k.Endpoint != b.Endpoint:
		return nil, fmt.Errorf("kubelet: %s: no such host", k.Endpoint)
	case err != nil || !bytes.Equal(bytes.TrimSpace(ca), bytes.TrimSpace(b.CA)):
		return nil, fmt.Errorf("kubelet: %s: x509: certificate signed by unknown authority", k.Endpoint)
	}
	return boot.Node(k, boot.Machine{
		OS: os, Name: i.DNSName, Address: i.Address, ProviderID: "aws:///" + i.Zone + "/" + i.ID, Type: i.Type,
		DiskGiB: disk(os, i), Fabric: i.Fabric, Devices: os == boot.Unknown || withDrivers(i.Image.Name),
	}), nil
}

// disk is the size of the volume that holds the kubelet's data.
func disk(os boot.OS, i *ec2test.Instance) int64 {
	device := i.Image.RootDeviceName
	if os == boot.Bottlerocket {
		device = "/dev/xvdb"
	}
	return int64(i.Disks[device])
}

// withDrivers says whether an image of AWS brings the drivers of accelerators.
func withDrivers(name string) bool {
	return slices.ContainsFunc([]string{"nvidia", "neuron", "gpu"}, func(word string) bool { return strings.Contains(name, word) })
}

// forget deletes the Node of a terminated instance once it is not Ready any more.
func (b *Booter) forget(ctx context.Context, node *corev1.Node) error {
	if ready(node) || node.DeletionTimestamp != nil {
		return nil
	}
	err := b.Client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
	if err != nil && !errors.IsNotFound(err) && !errors.IsConflict(err) {
		return fmt.Errorf("deleting node %s of a terminated instance: %w", node.Name, err)
	}
	return nil
}

func ready(n *corev1.Node) bool {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return i >= 0 && n.Status.Conditions[i].Status == corev1.ConditionTrue
}

// shutdown is the taint of a stopped instance's Node.
var shutdown = corev1.Taint{Key: "node.cloudprovider.kubernetes.io/shutdown", Effect: corev1.TaintEffectNoSchedule}

// taint gives a Node the taint of a stopped instance, or takes it off.
func (b *Booter) taint(ctx context.Context, node *corev1.Node, wanted bool) error {
	is := func(t corev1.Taint) bool { return t.MatchTaint(&shutdown) }
	if slices.ContainsFunc(node.Spec.Taints, is) == wanted {
		return nil
	}
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), is)
	if wanted {
		taints = append(taints, shutdown)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": taints},
	})
	if err != nil {
		return err
	}
	_, err = b.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "sandbox-cloud"})
	if err != nil && !errors.IsNotFound(err) {
		return fmt.Errorf("tainting node %s: %w", node.Name, err)
	}
	return nil
}
