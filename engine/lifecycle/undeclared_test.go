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
