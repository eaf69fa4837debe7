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
  nodeSelector: {team: blue}
  containers: [{name: main, image: example.com/main, resources: {requests: {cpu: "1", memory: 1Gi}}, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

// Millwright does not know how much storage is left, so it launches a machine, on which
// kube-scheduler refuses the pod for ever. The machine is idle and goes within two
// minutes, the pod says what kube-scheduler says, and so do an event and the command
// line. With -long the pod is seen to get another machine at once, and a third only
// after as long as it has been going on.
func TestAPodThatKubeSchedulerRefusesForEverKeepsNoMachine(t *testing.T) {
	t.Parallel()
	const words = "did not have enough free storage"
	c := newCluster(t)
	launched := c.watchClaims()
	c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64") + "---" + full)
	for n := range 2 {
		idle := c.refusedMachine(launched, n)
		t.Logf("machine %d was idle for %v", n+1, idle.Round(time.Second))
		if idle > promised(2*time.Minute) {
			t.Errorf("machine %d was idle for %v", n+1, idle)
		}
		c.eventually(patience, func() error { return c.podSays("app=refused", nomination.SchedulerDisagrees, words) })
		c.must(c.eventSays("SchedulerDisagrees", words))
		if answer := c.ask("why", "pod", "refused", "--namespace", "default"); !strings.Contains(answer, words) {
			t.Errorf("millwright why pod says:\n%s", answer)
		} else {
			t.Logf("millwright why pod says:\n%s", answer)
		}
		if !*long {
			return
		}
	}
	c.throughout(90*time.Second, func() error {
		if n := len(launched.of("blue")); n > 2 {
			return fmt.Errorf("%d machines, while the pod should wait", n)
		}
		return nil
	})
	c.eventually(patience, func() error {
		if n := len(launched.of("blue")); n < 3 {
			return fmt.Errorf("only %d machines", n)
		}
		return nil
	})
}

// refusedMachine waits until the machine that was launched after n others has come and
// gone, and returns for how long it was initialized.
func (c *cluster) refusedMachine(launched *claimLog, n int) time.Duration {
	c.Helper()
	var since time.Time
	c.eventually(2*patience, func() error {
		stories := launched.of("blue")
		if len(stories) <= n {
			return fmt.Errorf("%d machines were launched", len(stories))
		}
		story := stories[n]
		if story.ready && since.IsZero() {
			since = time.Now()
		}
		if !story.gone {
			return fmt.Errorf("machine %s (initialized %t) is still there", story.name, story.ready)
		}
		return nil
	})
	return time.Since(since)
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
