package aws

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/sandbox/knobs"
	"github.com/millwright-dev/millwright/sandbox/nodeclient"
)

// kubelets counts the restarts of a Node's kubelet.
type kubelets struct {
	mu       sync.Mutex
	restarts map[string]int
}

func (k *kubelets) Wake(string) {}

func (k *kubelets) Restart(node string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.restarts[node]++
}

// world is an AWS whose instances join a cluster that only has an API.
type world struct {
	*testing.T
	*Booter
	kubelets *kubelets
	calls    *ec2.Client
}

const endpoint = "https://demo.example"

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := Serve(ServerConfig{Listen: "127.0.0.1:0", Endpoint: endpoint, CA: []byte("CA")})
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: knobs.Namespace, Name: knobs.ConfigMap},
		Data:       map[string]string{"ec2-boot-delay": "10ms", "ec2-join-delay": "0s", "ec2-shutdown-delay": "10ms", "ec2-lag": "0s"},
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	live := knobs.NewLive(client, record.NewFakeRecorder(10))
	b, err := NewBooter(BooterConfig{Server: s, Nodes: func(string) (*nodeclient.Client, error) { return &nodeclient.Client{Core: client.CoreV1()}, nil }, Client: client, Informers: factory, Knobs: live, Clock: clock.RealClock{}, Endpoint: endpoint, CA: []byte("CA")})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, b, &kubelets{restarts: map[string]int{}}, NewVolumes(s).calls}
	b.Kubelets = w.kubelets
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := live.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() { b.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		work.Wait()
		factory.Shutdown()
		live.Shutdown()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// launch starts an instance with user data, and returns its ID.
func (w *world) launch(data string) string {
	w.Helper()
	out, err := w.calls.RunInstances(w.Context(), &ec2.RunInstancesInput{
		InstanceType: "m5.large", ImageId: sdk.String(OwnImage), MinCount: sdk.Int32(1), MaxCount: sdk.Int32(1),
		UserData: sdk.String(base64.StdEncoding.EncodeToString([]byte(data))),
	})
	if err != nil {
		w.Fatal(err)
	}
	return *out.Instances[0].InstanceId
}

func data(cluster, at, ca string) string {
	return fmt.Sprintf("#!/bin/bash\n/etc/eks/bootstrap.sh %s --apiserver-endpoint %s --b64-cluster-ca %s\n", cluster, at, base64.StdEncoding.EncodeToString([]byte(ca)))
}

// eventually looks until nothing is at fault.
func (w *world) eventually(check func() error) {
	w.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	w.Fatal(err)
}

func (w *world) shown(id string) Instance {
	for _, i := range w.Server.control.instances() {
		if i.ID == id {
			return i
		}
	}
	return Instance{}
}

func (w *world) node(id string) (*corev1.Node, error) {
	return w.Client.CoreV1().Nodes().Get(w.Context(), w.shown(id).Node, metav1.GetOptions{})
}

// report is what the node controller says of a Node.
func (w *world) report(id string, ready corev1.ConditionStatus) {
	w.Helper()
	n, err := w.node(id)
	if err != nil {
		w.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	if _, err := w.Client.CoreV1().Nodes().UpdateStatus(w.Context(), n, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func TestAnInstanceIsANodeUntilItIsTerminatedAndNotReady(t *testing.T) {
	w := newWorld(t)
	id := w.launch(data("demo", endpoint, "CA"))
	w.eventually(func() error { _, err := w.node(id); return err })
	n, err := w.node(id)
	if err != nil || n.Spec.ProviderID != "aws:///us-east-1a/"+id || !w.Alive(n) || w.Labels(n)["node.kubernetes.io/instance-type"] != "m5.large" {
		t.Fatalf("%+v, %v", n.Spec, err)
	}
	w.report(id, corev1.ConditionTrue)
	if _, err := w.calls.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		if w.Alive(n) || w.shown(id).State != terminated {
			return fmt.Errorf("alive %v, %s", w.Alive(n), w.shown(id).State)
		}
		return nil
	})
	if _, err := w.node(id); err != nil {
		t.Errorf("a Node that is Ready was deleted: %v", err)
	}
	w.report(id, corev1.ConditionUnknown)
	w.eventually(func() error {
		if _, err := w.node(id); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Node is there, %w", errors.Join(err))
		}
		return nil
	})
}

func TestAStoppedInstanceHasItsNodeTaintedAndBootsAnewWhenItStarts(t *testing.T) {
	w := newWorld(t)
	id := w.launch(data("demo", endpoint, "CA"))
	w.eventually(func() error { _, err := w.node(id); return err })
	w.report(id, corev1.ConditionUnknown)
	if _, err := w.calls.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		n, err := w.node(id)
		if err != nil || !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&shutdown) }) {
			return fmt.Errorf("%v, %w", n.Spec.Taints, errors.Join(err))
		}
		return nil
	})
	if _, err := w.calls.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		w.kubelets.mu.Lock()
		defer w.kubelets.mu.Unlock()
		n, err := w.node(id)
		if err != nil {
			return err
		}
		if w.kubelets.restarts[n.Name] != 1 || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&shutdown) }) {
			return fmt.Errorf("restarts: %v, taints: %v", w.kubelets.restarts, n.Spec.Taints)
		}
		return nil
	})
}

func TestAnInstanceThatIsRebootedBootsAnew(t *testing.T) {
	w := newWorld(t)
	id := w.launch(data("demo", endpoint, "CA"))
	w.eventually(func() error { _, err := w.node(id); return err })
	if _, err := w.calls.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		w.kubelets.mu.Lock()
		defer w.kubelets.mu.Unlock()
		if n, err := w.node(id); err != nil || w.kubelets.restarts[n.Name] != 1 {
			return fmt.Errorf("restarts: %v, %w", w.kubelets.restarts, errors.Join(err))
		}
		return nil
	})
}

func TestAnInstanceThatIsToldWronglyNeverJoinsAndSaysWhy(t *testing.T) {
	w := newWorld(t)
	for want, text := range map[string]string{
		"the token for cluster other is not taken by demo": data("other", endpoint, "CA"),
		"https://elsewhere.example: no such host":          data("demo", "https://elsewhere.example", "CA"),
		"x509: certificate signed by unknown authority":    data("demo", endpoint, "other"),
		"nothing in it makes a kubelet join":               "#!/bin/bash\n",
	} {
		id := w.launch(text)
		w.eventually(func() error {
			if i := w.shown(id); !strings.HasPrefix(i.Console, "never joins: ") || !strings.Contains(i.Console, want) {
				return fmt.Errorf("%s %q, want %q", i.State, i.Console, want)
			}
			return nil
		})
	}
	if list, err := w.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("%d Nodes, %v", len(list.Items), err)
	}
}
