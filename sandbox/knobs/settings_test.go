package knobs

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func parse(t *testing.T, data map[string]string) Settings {
	t.Helper()
	s, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseRefusesWhatMakesNoSense(t *testing.T) {
	for key, value := range map[string]string{
		"detach-dealy":                "1s",
		"detach-delay":                "soon",
		"attach-delay":                "-1s",
		"detach-hang":                 "perhaps",
		"csi-attach-limit":            "-1",
		"detach-hang.pod.default.web": "true",
		"detach-hang.node":            "true",
		"detach-hang.node.":           "true",
		"node-ip":                     "10.0.0",
		"pod-run-for":                 "1s",
	} {
		if _, err := Parse(map[string]string{key: value}); err == nil {
			t.Errorf("%s: %q is accepted", key, value)
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	for _, k := range All() {
		if k.Default == "" {
			continue
		}
		if err := k.Validate(k.Default); err != nil {
			t.Error(err)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	var names []string
	for _, k := range All() {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("double name in %v", names)
	}
}

func TestMostSpecificValueWins(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "a.b", Annotations: map[string]string{Prefix + "attach-delay": "4s"},
	}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
	subjects := []Subject{OfVolume(pv), OfNode(node)}
	data := map[string]string{}
	expect := func(want time.Duration) {
		t.Helper()
		if got := parse(t, data).Duration(AttachDelay, subjects...); got != want {
			t.Errorf("%v: got %v, want %v", data, got, want)
		}
	}
	expect(4 * time.Second) // annotation
	data["attach-delay"] = "1s"
	expect(4 * time.Second)
	data["attach-delay.node.a.b"] = "2s"
	expect(2 * time.Second)
	data["attach-delay.pv.v"] = "3s"
	expect(3 * time.Second)
	subjects = nil
	expect(time.Second)
	delete(data, "attach-delay")
	expect(300 * time.Millisecond)
}

func TestInvalidAnnotationIsIgnored(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Prefix + "start-delay": "soon"}}}
	if got := (Settings{}).Duration(PodStartDelay, OfPod(p)); got != 300*time.Millisecond {
		t.Errorf("got %v", got)
	}
}

func TestSilentAnnotationTurnsTheKnobOn(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Prefix + "kubelet": "silent"}}}
	if !(Settings{}).On(KubeletSilent, OfNode(n)) {
		t.Error("not silent")
	}
}

func TestKeyOfPodIsFoundAgain(t *testing.T) {
	key, err := Key(PodRunFor, ScopePod, "default/web.0")
	if err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web.0"}}
	if got := parse(t, map[string]string{key: "5s"}).Duration(PodRunFor, OfPod(p)); got != 5*time.Second {
		t.Errorf("got %v", got)
	}
}
