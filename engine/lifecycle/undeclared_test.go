package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

func TestATaintIsLearnedFromTheSecondMachineAndForgottenWhenItStaysOrIsDeclared(t *testing.T) {
	var known []snapshot.LearnedTaint
	claim := func(n int, annotation string) *snapshot.Claim {
		return &snapshot.Claim{Name: fmt.Sprint("c", n), UID: types.UID(fmt.Sprint("c", n)), Annotations: map[string]string{lifecycle.UndeclaredAnnotation: annotation}}
	}
	for i, step := range []struct{ annotation, want string }{
		{"cni:NoSchedule", ""},
		{"-cni:NoSchedule", ""},
		{"-cni:NoSchedule,-gpu:NoExecute", "cni:NoSchedule"},
		{"-cni:NoSchedule", "cni:NoSchedule"},
		{"!cni:NoSchedule", ""},
		{"-gpu:NoExecute", "gpu:NoExecute"},
	} {
		for range 2 { // the same claims are seen again and again
			known = lifecycle.Learn(known, []*snapshot.Claim{claim(i, step.annotation)}, nil)
		}
		var got []string
		for _, l := range lifecycle.Learned(known) {
			got = append(got, l.Key+":"+string(l.Effect))
		}
		if strings.Join(got, " ") != step.want {
			t.Errorf("step %d: learned %v, want %q", i, got, step.want)
		}
	}
	declared := []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}}
	if got := lifecycle.Learned(lifecycle.Learn(known, nil, declared)); len(got) != 0 {
		t.Errorf("a declared taint is still learned: %v", got)
	}
}

// Others may write annotations too: what is no taint that a Node may lose is not learned, and
// what a pool remembers of such is forgotten.
func TestWhatIsNoTaintIsNotLearned(t *testing.T) {
	names := []string{"", "cni", "cni:", ":NoSchedule", "cni:Sometimes", "cni:PreferNoSchedule", "not a key:NoSchedule", "x:\n- {}:NoSchedule", "!cni:NoSchedule", "node.kubernetes.io/not-ready:NoExecute", "cni:NoSchedule"}
	remembered := make([]snapshot.LearnedTaint, len(names))
	for i, name := range names {
		remembered[i] = snapshot.LearnedTaint{Taint: name, Claims: []types.UID{"c1", "c2"}}
	}
	var claims []*snapshot.Claim
	for _, uid := range []types.UID{"c1", "c2"} {
		claims = append(claims, &snapshot.Claim{UID: uid, Annotations: map[string]string{lifecycle.UndeclaredAnnotation: "-" + strings.Join(names, ",-")}})
	}
	const want = "[{cni:NoSchedule [c1 c2]}]"
	for what, got := range map[string][]snapshot.LearnedTaint{"of claims": lifecycle.Learn(nil, claims, nil), "of the pool": lifecycle.Learn(remembered, nil, nil)} {
		if fmt.Sprint(got) != want {
			t.Errorf("%s is learned %q, want %s", what, got, want)
		}
	}
	if got := lifecycle.Learned(remembered); len(got) != 1 {
		t.Errorf("the next machines are expected to lose %v", got)
	}
}
