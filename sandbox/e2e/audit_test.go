package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// audit keeps the books of a cluster's databases: every change of an attachment and
// every end of a volume driver's node plugin, each with the revision at which the
// API server made it, and how long each database was away.
type audit struct {
	c    *cluster
	stop []func()

	mu       sync.Mutex
	attached map[string]map[string]string // volume -> attachment -> node
	faults   []string
	detached map[string]int64 // node -> revision of its last detachment
	ended    map[string]int64 // node -> revision at which its plugin was told to end
	dead     map[string]bool  // nodes whose machine dies
	seen     int
	away     map[string]time.Time // database -> since when
	longest  time.Duration
	returned int
}

func (c *cluster) audit() *audit {
	c.Helper()
	a := &audit{c: c, attached: map[string]map[string]string{}, detached: map[string]int64{}, ended: map[string]int64{}, dead: map[string]bool{}, away: map[string]time.Time{}}
	attachments, err := c.client.StorageV1().VolumeAttachments().List(c.Context(), metav1.ListOptions{})
	c.must(err)
	if len(attachments.Items) > 0 {
		c.Fatal("the books begin too late")
	}
	a.follow(attachments.ResourceVersion, c.client.StorageV1().VolumeAttachments().Watch, a.attachment)
	pods, err := c.client.CoreV1().Pods("kube-system").List(c.Context(), metav1.ListOptions{})
	c.must(err)
	a.follow(pods.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = "app=ebs-csi-node"
		return c.client.CoreV1().Pods("kube-system").Watch(ctx, o)
	}, a.plugin)
	databases, err := c.client.CoreV1().Pods("default").List(c.Context(), metav1.ListOptions{})
	c.must(err)
	a.follow(databases.ResourceVersion, func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		o.LabelSelector = "app=db"
		return c.client.CoreV1().Pods("default").Watch(ctx, o)
	}, a.database)
	return a
}

// dies announces that a machine is killed now: its plugin and its databases die with
// it, whatever becomes of the pods' objects.
func (a *audit) dies(node string) {
	a.c.Helper()
	pods := a.c.pods("app=db")
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead[node] = true
	for _, p := range pods {
		if p.Spec.NodeName == node {
			a.away[p.Name] = time.Now()
		}
	}
}

// database takes the time from the moment at which a database is told to end, to
// the moment at which it is ready again.
func (a *audit) database(kind watch.EventType, obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	since, away := a.away[pod.Name]
	switch {
	case kind == watch.Deleted || pod.DeletionTimestamp != nil:
		if !away {
			a.away[pod.Name] = time.Now()
		}
	case away && harness.Running(pod) && !a.dead[pod.Spec.NodeName]:
		delete(a.away, pod.Name)
		a.longest = max(a.longest, time.Since(since))
		a.returned++
	}
}

// back is how many databases have come back since the last call, and the longest
// time that one was away; it finds fault while any is away.
func (a *audit) back() (count int, longest time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.away) > 0 {
		return 0, 0, fmt.Errorf("%d databases are away", len(a.away))
	}
	count, longest = a.returned, a.longest
	a.returned, a.longest = 0, 0
	return count, longest, nil
}

func (a *audit) follow(revision string, from watches, take func(watch.EventType, runtime.Object)) {
	a.c.Helper()
	a.stop = append(a.stop, a.c.changes(revision, from, func(kind watch.EventType, obj runtime.Object) {
		a.mu.Lock()
		defer a.mu.Unlock()
		take(kind, obj)
	}))
}

func (a *audit) attachment(kind watch.EventType, obj runtime.Object) {
	va := obj.(*storagev1.VolumeAttachment)
	volume := *va.Spec.Source.PersistentVolumeName
	a.seen++
	if kind == watch.Deleted {
		delete(a.attached[volume], va.Name)
		a.detached[va.Spec.NodeName] = revision(va)
		return
	}
	if !va.Status.Attached {
		return
	}
	if a.attached[volume] == nil {
		a.attached[volume] = map[string]string{}
	}
	a.attached[volume][va.Name] = va.Spec.NodeName
	if len(a.attached[volume]) > 1 {
		a.faults = append(a.faults, fmt.Sprintf("volume %s is attached twice: %v", volume, a.attached[volume]))
	}
}

func (a *audit) plugin(kind watch.EventType, obj runtime.Object) {
	pod := obj.(*corev1.Pod)
	if node := pod.Spec.NodeName; node != "" && a.ended[node] == 0 && (kind == watch.Deleted || pod.DeletionTimestamp != nil) {
		a.ended[node] = revision(pod)
	}
}

func revision(obj metav1.Object) int64 {
	n, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64) // the API server made it
	return n
}

// close ends the books and finds fault with what is in them.
func (a *audit) close() {
	a.c.Helper()
	for _, stop := range a.stop {
		stop()
	}
	nodes := a.c.nodes()
	for volume, held := range a.attached {
		for name, node := range held {
			if _, ok := nodes[node]; !ok {
				a.faults = append(a.faults, fmt.Sprintf("attachment %s of volume %s is left behind: node %s is gone", name, volume, node))
			}
		}
	}
	for node, end := range a.ended {
		if last := a.detached[node]; last > end && !a.dead[node] {
			a.faults = append(a.faults, fmt.Sprintf("the plugin of node %s was told to end at revision %d, and a volume was still attached until %d", node, end, last))
		}
	}
	if a.seen == 0 || len(a.ended) == 0 {
		a.faults = append(a.faults, "nothing was ever attached or no plugin ever ended, so this shows nothing")
	}
	for _, f := range a.faults {
		a.c.Error(f)
	}
	a.c.Logf("%d changes of attachments, %d plugins ended", a.seen, len(a.ended))
}
