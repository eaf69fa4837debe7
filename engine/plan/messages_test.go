package plan

import (
	"slices"
	"testing"
)

func untolerated(pool, taint string, changes ...Constraint) Reason {
	return Reason{
		Code: TaintNotTolerated, Objects: []ObjectRef{{Kind: "NodePool", Name: pool}}, Have: taint,
		Nearest: &Miss{InstanceType: "m", Changes: append(changes, Constraint{Code: TaintNotTolerated, Have: taint})},
	}
}

func TestPoolsOfWhichTheSameIsSaidShareASentence(t *testing.T) {
	arch := Constraint{Code: RequirementNotMet, Field: FieldNodeSelector, Want: "arch=arm64", Have: "amd64"}
	for _, tt := range []struct {
		name string
		in   []Reason
		most int
		want []string
	}{
		{"alike", []Reason{untolerated("a", "x:NoSchedule"), untolerated("b", "x:NoSchedule")}, 3,
			[]string{"pools a, b: the pod does not tolerate its taint x:NoSchedule"}},
		{"the nearest only says what it would take", []Reason{untolerated("a", "x:NoSchedule"), untolerated("b", "y:NoSchedule", arch)}, 3,
			[]string{"pool a: the pod does not tolerate its taint x:NoSchedule", "pool b: the pod does not tolerate its taint y:NoSchedule"}},
		{"all are as near", []Reason{untolerated("b", "y:NoSchedule", arch)}, 3,
			[]string{"pool b: the pod does not tolerate its taint y:NoSchedule; would fit m if the pod accepted arch amd64 and the pod tolerated y:NoSchedule"}},
		{"it launches nothing, and is at its limit", []Reason{{
			Code: MachinesUnused, Objects: []ObjectRef{{Kind: "NodePool", Name: "a"}}, Have: "machines are not used",
			Nearest: &Miss{InstanceType: "m", Changes: []Constraint{{Code: MachinesUnused}, {Code: LimitExceeded, Want: "cpu 8", Have: "cpu 12"}}},
		}}, 3, []string{"pool a: it launches nothing for the pod: machines are not used; would fit m if the pool launched and the limit of cpu were 12 instead of 8"}},
		{"too many", []Reason{untolerated("a", "x:NoSchedule"), untolerated("b", "y:NoSchedule"), {Code: PoolStatic, Objects: []ObjectRef{{Name: "c"}}}, untolerated("d", "y:NoSchedule")}, 1,
			[]string{"pool a: the pod does not tolerate its taint x:NoSchedule", "and 3 more: TaintNotTolerated 2, PoolStatic 1"}},
		{"no pool", []Reason{{Code: NoPools}, {Code: NoPools}}, 3, []string{"there is no NodePool"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Messages(tt.in, tt.most); !slices.Equal(got, tt.want) {
				t.Errorf("it says\n%q, want\n%q", got, tt.want)
			}
		})
	}
}
