package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/engine/policy"
)

func TestTheHighestPriorityRulesEachSectionAndThenTheFirstName(t *testing.T) {
	gpu, err := labels.Parse("gpu=true")
	if err != nil {
		t.Fatal(err)
	}
	policies := []policy.Policy{
		{Name: "base", Selector: labels.Everything(), Sections: []string{"initialization", "termination"}},
		{Name: "gpu-b", Priority: 10, Selector: gpu, Sections: []string{"initialization"}},
		{Name: "gpu-a", Priority: 10, Selector: gpu, Sections: []string{"initialization"}},
		{Name: "named", Priority: -5, Names: []string{"web"}, Sections: []string{"termination", "disruption"}},
		{Name: "nobody", Priority: 100, Names: []string{"gone"}, Sections: []string{"initialization"}},
		{Name: "nothing", Priority: 100, Selector: labels.Nothing(), Sections: []string{"initialization"}},
	}
	pools := []policy.Pool{{Name: "web"}, {Name: "train", Labels: map[string]string{"gpu": "true"}}}
	want := []string{
		"train initialization: gpu-a over gpu-b,base",
		"train termination: base over ",
		"web disruption: named over ",
		"web initialization: base over ",
		"web termination: base over named",
	}
	for range 2 {
		var got []string
		for _, r := range policy.Resolve(policies, pools) {
			got = append(got, fmt.Sprintf("%s %s: %s over %s", r.Pool, r.Section, r.Policy, strings.Join(r.Overridden, ",")))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		slices.Reverse(policies) // the order in which they come does not matter
		slices.Reverse(pools)
	}
}
