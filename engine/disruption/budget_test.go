package disruption

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// noon is a Wednesday.
var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

// fleet is a pool's machines: total initialized ones, of which some are not
// ready, some are being deleted and some are terminating at the cloud.
func fleet(total, notReady, deleting, terminating int) []*snapshot.Node {
	var out []*snapshot.Node
	for i := range total {
		status := corev1.ConditionTrue
		n := &snapshot.Node{Name: fmt.Sprintf("node-%03d", i), Claim: &snapshot.Claim{
			Name: fmt.Sprintf("claim-%03d", i), Pool: "p",
			Conditions: map[string]snapshot.Condition{snapshot.Initialized: {Status: corev1.ConditionTrue}},
		}}
		switch {
		case i < notReady:
			status = corev1.ConditionUnknown
		case i < notReady+deleting:
			n.Claim.Deleted = noon
		case i < notReady+deleting+terminating:
			n.Claim.Deleted = noon
			n.Claim.Conditions[snapshot.InstanceTerminating] = snapshot.Condition{Status: corev1.ConditionTrue}
		}
		n.Object = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}},
		}}
		out = append(out, n)
	}
	return out
}

func TestABudgetPermitsTheSmallestOfWhatIsOpenLessWhatIsAlreadyDisrupting(t *testing.T) {
	type budgets = []snapshot.Budget
	every := func(nodes string) snapshot.Budget { return snapshot.Budget{Nodes: nodes} }
	during := func(nodes, schedule string, d time.Duration) snapshot.Budget {
		return snapshot.Budget{Nodes: nodes, Schedule: schedule, Duration: d}
	}
	only := func(nodes string, reasons ...string) snapshot.Budget {
		return snapshot.Budget{Nodes: nodes, Reasons: reasons}
	}
	for _, tc := range []struct {
		name                      string
		nodes                     []*snapshot.Node
		budgets                   budgets
		empty, drifted, remaining int // remaining is for Empty
		opens                     time.Time
	}{
		{"without a budget nothing is limited", fleet(3, 0, 0, 0), nil, Unlimited, Unlimited, Unlimited, time.Time{}},
		{"the default of 10% lets a pool of one lose one", fleet(1, 0, 0, 0), budgets{every("10%")}, 1, 1, 1, time.Time{}},
		{"a percentage is rounded up", fleet(11, 0, 0, 0), budgets{every("10%")}, 2, 2, 2, time.Time{}},
		{"a percentage that divides evenly is exact", fleet(20, 0, 0, 0), budgets{every("10%")}, 2, 2, 2, time.Time{}},
		{"100% is every node", fleet(7, 0, 0, 0), budgets{every("100%")}, 7, 7, 7, time.Time{}},
		{"0% is none", fleet(7, 0, 0, 0), budgets{every("0%")}, 0, 0, 0, time.Time{}},
		{"a percentage of no nodes is none", nil, budgets{every("10%")}, 0, 0, 0, time.Time{}},
		{"a count is a count", fleet(7, 0, 0, 0), budgets{every("3")}, 3, 3, 3, time.Time{}},
		{"nodes that are not ready use it up", fleet(7, 2, 0, 0), budgets{every("3")}, 3, 3, 1, time.Time{}},
		{"nodes that are being deleted use it up", fleet(7, 0, 2, 0), budgets{every("3")}, 3, 3, 1, time.Time{}},
		{"what is used up never goes below zero", fleet(7, 3, 3, 0), budgets{every("3")}, 3, 3, 0, time.Time{}},
		{"instances that terminate no longer count at all", fleet(11, 0, 0, 1), budgets{every("10%")}, 1, 1, 1, time.Time{}},
		{"of several the smallest holds", fleet(20, 0, 0, 0), budgets{every("5"), every("10%"), every("9")}, 2, 2, 2, time.Time{}},
		{"a budget for one reason leaves the others alone", fleet(20, 0, 0, 0), budgets{every("50%"), only("1", "Drifted")}, 10, 1, 10, time.Time{}},
		{"a reason that no budget covers is not limited", fleet(20, 0, 0, 0), budgets{only("1", "Drifted", "Underutilized")}, Unlimited, 1, Unlimited, time.Time{}},
		{"a window that is open holds and says when it closes", fleet(9, 0, 0, 0), budgets{during("0", "0 9 * * mon-fri", 8*time.Hour)}, 0, 0, 0, noon.Add(5 * time.Hour)},
		{"a window that is shut does not hold", fleet(9, 0, 0, 0), budgets{during("0", "0 9 * * sat", 8*time.Hour)}, Unlimited, Unlimited, Unlimited, time.Time{}},
		{"a window opens at the minute", fleet(9, 0, 0, 0), budgets{during("0", "0 12 * * *", time.Hour)}, 0, 0, 0, noon.Add(time.Hour)},
		{"a window has closed when its duration is over", fleet(9, 0, 0, 0), budgets{during("0", "0 11 * * *", time.Hour)}, Unlimited, Unlimited, Unlimited, time.Time{}},
		{"macros are understood", fleet(9, 0, 0, 0), budgets{during("2", "@daily", 13*time.Hour)}, 2, 2, 2, time.Time{}},
		{"windows that overlap open when the last of them closes", fleet(9, 0, 0, 0),
			budgets{during("0", "0 11 * * *", 2*time.Hour), during("0", "30 12 * * *", 2*time.Hour)}, 0, 0, 0, noon.Add(150 * time.Minute)},
		{"a budget that is always shut never opens", fleet(9, 0, 0, 0), budgets{every("0"), during("0", "0 9 * * *", 8*time.Hour)}, 0, 0, 0, time.Time{}},
		{"a window that follows itself without a gap never opens", fleet(9, 0, 0, 0), budgets{during("0", "* * * * *", time.Hour)}, 0, 0, 0, time.Time{}},
		{"a date that never comes holds for ever", fleet(9, 0, 0, 0), budgets{during("0", "0 0 30 2 *", time.Hour)}, 0, 0, 0, time.Time{}},
		{"a cron that cannot be read shuts every reason", fleet(9, 0, 0, 0), budgets{{Nodes: "9", Schedule: "61 * * * *", Duration: time.Hour, Reasons: []string{"Drifted"}}}, 0, 0, 0, time.Time{}},
		{"seconds are not part of a schedule", fleet(9, 0, 0, 0), budgets{during("9", "0 0 9 * * *", time.Hour)}, 0, 0, 0, time.Time{}},
		{"a schedule has no time zone but UTC", fleet(9, 0, 0, 0), budgets{during("9", "TZ=Asia/Tokyo 0 9 * * *", time.Hour)}, 0, 0, 0, time.Time{}},
		{"nodes that are no number shut every reason", fleet(9, 0, 0, 0), budgets{every("many")}, 0, 0, 0, time.Time{}},
		{"a negative number shuts every reason", fleet(9, 0, 0, 0), budgets{every("-1")}, 0, 0, 0, time.Time{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &snapshot.Snapshot{Now: noon, Nodes: tc.nodes, Pools: []*snapshot.Pool{{Name: "p", Disruption: snapshot.Disruption{Budgets: tc.budgets}}}}
			empty, drifted := newAccount(s).allowance("p", Empty), newAccount(s).allowance("p", Drifted)
			if empty.Allowed != tc.empty || drifted.Allowed != tc.drifted || empty.Remaining() != tc.remaining || !empty.Opens.Equal(tc.opens) {
				t.Errorf("got empty %d, drifted %d, remaining %d, opens %v; want %d, %d, %d, %v (%s)",
					empty.Allowed, drifted.Allowed, empty.Remaining(), empty.Opens, tc.empty, tc.drifted, tc.remaining, tc.opens, empty.Invalid)
			}
		})
	}
}

func TestASummerTimeChangeMovesNoBudget(t *testing.T) {
	// Clocks in the controller's own time zone may jump; UTC does not.
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone database here")
	}
	budgets, err := read([]snapshot.Budget{{Nodes: "0", Schedule: "0 1 * * *", Duration: time.Hour}}, Empty, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []int{28, 29, 30} {
		at, end := time.Date(2026, 3, day, 1, 30, 0, 0, time.UTC), time.Date(2026, 3, day, 2, 0, 0, 0, time.UTC)
		if open, until := budgets[0].at(at.In(berlin)); !open || !until.Equal(end) {
			t.Errorf("at %v: open %v, until %v", at, open, until)
		}
		if open, _ := budgets[0].at(end.In(berlin)); open {
			t.Errorf("open at %v", end)
		}
	}
}

func FuzzABudgetNeverPanicsAndFailsClosed(f *testing.F) {
	for _, s := range []string{"", "@daily", "0 9 * * mon-fri", "TZ=", "@every 1s", "* * * *", "TZ=UTC", "*/0 * * * *", "0 0 31 2 *"} {
		f.Add(s, "10%", int64(time.Hour))
	}
	f.Fuzz(func(t *testing.T, schedule, nodes string, d int64) {
		p := &snapshot.Pool{Name: "p", Disruption: snapshot.Disruption{Budgets: []snapshot.Budget{{Nodes: nodes, Schedule: schedule, Duration: time.Duration(d)}}}}
		a := allowance(p, Empty, census{nodes: 10}, noon)
		if a.Invalid != "" && a.Remaining() != 0 {
			t.Errorf("an invalid budget allows %d", a.Remaining())
		}
	})
}
