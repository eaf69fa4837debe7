package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/nomination"
)

// full is a volume driver whose storage has no room left, as kube-scheduler alone knows:
// it says that it publishes how much there is, and has published nothing.
const full = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: full.example.com}
spec: {storageCapacity: true, attachRequired: false}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: full}
provisioner: full.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: full, resources: {requests: {storage: 10Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: refused, namespace: default, labels: {app: refused}}
spec:
  nodeSelector: {team: storage}
  containers: [{name: main, image: example.com/main, resources: {requests: {cpu: "1", memory: 1Gi}}, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// refusal is a pod that kube-scheduler refuses for ever on the machines of the pool
// storage, as Millwright does not know how much storage is left.
type refusal struct {
	*cluster
	launched *claimLog
}

func (c *cluster) refusedForEver() refusal {
	c.Helper()
	r := refusal{c, c.watchClaims()}
	c.manifests(pool("storage", "amd64") + "---" + full)
	return r
}

// told waits until the machine that was launched after n others has gone. It was idle for
// two minutes at most; the pod's condition says what kube-scheduler says, and so do an
// event and the command line.
func (r refusal) told(n int) {
	r.Helper()
	const words = "did not have enough free storage"
	r.eventually(2*patience, func() error {
		if stories := r.launched.of("storage"); len(stories) <= n || !stories[n].gone {
			return fmt.Errorf("machine %d has not gone:\n%s", n, r.launched.tell("storage"))
		}
		return nil
	})
	story := r.launched.of("storage")[n]
	idle := story.goneAt.Sub(story.readyAt)
	r.Logf("kube-scheduler refused a pod: machine %s was idle for %v", story.name, idle.Round(time.Second))
	if !story.ready || idle > promised(2*time.Minute) {
		r.Errorf("machine %s was initialized %t, and idle for %v", story.name, story.ready, idle)
	}
	r.eventually(patience, func() error { return r.podSays("app=refused", nomination.SchedulerDisagrees, words) })
	r.must(r.eventSays("SchedulerDisagrees", words))
	if answer := r.ask("why", "pod", "refused", "--namespace", "default"); !strings.Contains(answer, words) {
		r.Errorf("millwright why pod says:\n%s", answer)
	} else {
		r.Logf("millwright why pod says:\n%s", answer)
	}
}

// A pod that is refused for ever gets another machine at once, and a third only after as
// long as it has been going on. The first is part of
// TestBudgetsByReasonAndScheduleHoldAtEveryInstant, which takes as long anyway.
func TestAPodThatIsRefusedForEverIsNotGivenOneMachineAfterTheOther(t *testing.T) {
	if !*long {
		t.Skip("takes minutes; run with -long")
	}
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class)
	refused := c.refusedForEver()
	refused.told(0)
	refused.told(1)
	machines := func() int { return len(refused.launched.of("storage")) }
	c.throughout(90*time.Second, func() error {
		if n := machines(); n > 2 {
			return fmt.Errorf("%d machines, while the pod should wait", n)
		}
		return nil
	})
	c.eventually(patience, func() error {
		if n := machines(); n < 3 {
			return fmt.Errorf("only %d machines", n)
		}
		return nil
	})
}

// podSays finds fault unless a pod has a condition whose message says something.
func (c *cluster) podSays(selector string, kind corev1.PodConditionType, text string) error {
	var said []string
	for _, p := range c.pods(selector) {
		for _, condition := range p.Status.Conditions {
			if condition.Type == kind && strings.Contains(condition.Message, text) {
				return nil
			}
			said = append(said, fmt.Sprintf("%s: %s", condition.Type, condition.Message))
		}
	}
	return fmt.Errorf("no %s with %q, only %q", kind, text, said)
}
