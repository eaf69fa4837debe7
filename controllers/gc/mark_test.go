package gc_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cloud"
)

// marking is a cloud whose machines say whose they are.
type marking struct {
	cloud.Provider
	marked []string
}

func (m *marking) Mark(_ context.Context, providerID, claim, node string) (map[string]string, error) {
	m.marked = append(m.marked, fmt.Sprintf("%s is of %s and %s", providerID, claim, node))
	return map[string]string{"example.com/marked": "true"}, nil
}

func TestAMachineThatDoesNotSayWhoseItIsIsMarked(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*scene)
		want   []string
	}{
		"another controller launched it": {func(s *scene) { s.machine.Claim, s.machine.Token = "", "" }, []string{"test://1 is of c and n"}},
		"it says so":                     {func(*scene) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			m := &marking{Provider: s.Deps.Provider}
			s.Deps.Provider = m
			claim := s.claim(karpv1.ConditionTypeRegistered)
			claim.Status.NodeName = "n"
			s.Must(s.Rig.Client.Status().Update(ctx, claim))
			tt.change(s)
			s.sweep(t)
			s.Get(claim)
			if !slices.Equal(m.marked, tt.want) || (claim.Annotations["example.com/marked"] == "true") != (tt.want != nil) {
				t.Errorf("marked %v with annotations %v, want %v", m.marked, claim.Annotations, tt.want)
			}
		})
	}
}
