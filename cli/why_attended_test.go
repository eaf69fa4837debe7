package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A pod that needs a machine waits until a process launches it, and what is said of such a process
// is what leases and pods tell.
func TestWhySaysThatNoControllerLaunchesWhatIsPlanned(t *testing.T) {
	lease := func(name, holder string, renewed time.Duration) string {
		return fmt.Sprintf(`---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: %s, namespace: millwright-system}
spec: {holderIdentity: %q, leaseDurationSeconds: 15, renewTime: %q}
`, name, holder, noon.Add(renewed).UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	holder := func(ready string) string {
		return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: millwright-0, namespace: millwright-system}
spec: {nodeName: node-a, containers: [{name: main, image: x}]}
status: {phase: Running, conditions: [{type: Ready, status: %q, lastTransitionTime: "2026-03-11T11:59:00Z"}]}
`, ready)
	}
	const acting, observing = "karpenter-leader-election", "millwright-observer"
	for name, test := range map[string]struct{ objects, says, fix string }{
		"it acts":                           {lease(acting, "millwright-0_1", -5*time.Second) + holder("True"), "", ""},
		"it is no pod":                      {lease(acting, "laptop_1", -5*time.Second), "", ""},
		"it has died":                       {lease(acting, "millwright-0_1", -time.Minute), "No controller has held lease/karpenter-leader-election -n millwright-system since 2026-03-11T11:59:00Z", "run a controller that acts"},
		"it has ended":                      {lease(acting, "", -5*time.Second), "No controller has held lease/karpenter-leader-election -n millwright-system since 2026-03-11T11:59:55Z", "run a controller that acts"},
		"it is not ready":                   {lease(acting, "millwright-0_1", -5*time.Second) + holder("False"), "pod/millwright-0 -n millwright-system, which holds lease/karpenter-leader-election -n millwright-system, has not been ready since 2026-03-11T11:59:00Z", "kubectl logs millwright-0 -n millwright-system"},
		"it observes only":                  {lease(observing, "millwright-0_1", -5*time.Second), "lease/millwright-observer -n millwright-system is that of a controller which only observes, and launches nothing.", "without --mode observe"},
		"an observer besides one that acts": {lease(observing, "observer-0_1", -5*time.Second) + lease(acting, "millwright-0_1", -5*time.Second), "", ""},
		"there never was one":               {"", "There is no lease karpenter-leader-election: nothing is launched unless a controller runs with --disable-leader-election", "run a controller that acts"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := objectsOf(t, "testdata/why/base.yaml", "testdata/why/overlay_for_a_pod.yaml")
			objects = slices.DeleteFunc(objects, func(o client.Object) bool { return o.GetName() == acting })
			if test.objects != "" {
				objects = append(objects, objectsOf(t, written(t, test.objects))...)
			}
			answer := askAbout(t, []string{"pod", "new-0", "--namespace", "default"}, objects...)
			if !strings.Contains(answer, test.says) || !strings.Contains(answer, test.fix) || !strings.Contains(answer, "needs a new node") {
				t.Errorf("the answer is\n%s", answer)
			}
			if test.says == "" && strings.Contains(answer, "controller") {
				t.Errorf("it has nothing to say of controllers:\n%s", answer)
			}
		})
	}
}

func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
