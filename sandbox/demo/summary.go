package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// summarize adds the story up.
func (st *story) summarize(ctx context.Context, up, down act) error {
	naive, err := st.naive(ctx)
	if err != nil {
		return err
	}
	price := up.end.pricePerHour()
	st.screen.say("\nSummary")
	st.screen.say("  pods running          %d of %d", up.end.running, up.end.workload)
	st.screen.say("  machines              %d of %d types in %d zones", len(up.end.machines),
		distinct(up.end.machines, func(m machine) string { return m.instanceType }),
		distinct(up.end.machines, func(m machine) string { return m.zone }))
	st.screen.say("  price                 $%.3f/h", price)
	st.screen.say("  one size for all      $%.3f/h on %d machines (examples/naive): %.0f %% dearer",
		naive.TotalPricePerHour, len(naive.NewNodes), 100*(naive.TotalPricePerHour/price-1))
	st.screen.say("  pending to running    %.1fs to the last pod; half within %v, 95 %% within %v",
		up.took.Seconds(), quantile(up.end.startup, 0.5), quantile(up.end.startup, 0.95))
	st.screen.say("  surplus gone          %.1fs after the scale-down; %d machines remain for %d pods",
		down.took.Seconds(), len(down.end.machines), down.end.running)
	return nil
}

// naivePlan is the part of `millwright plan -o json` that the summary reads.
type naivePlan struct {
	NewNodes          []struct{} `json:"newNodes"`
	Unplaced          []struct{} `json:"unplaced"`
	TotalPricePerHour float64    `json:"totalPricePerHour"`
}

// naive asks Millwright what the same workload costs on pools of one instance
// type each.
func (st *story) naive(ctx context.Context) (naivePlan, error) {
	examples := filepath.Join(st.cfg.Root, "examples")
	var p naivePlan
	out, err := exec.CommandContext(ctx, st.cfg.Millwright, "plan", "--instance-types", "ec2", "-o", "json",
		"-R", "-f", filepath.Join(examples, "naive"), "-f", filepath.Join(examples, "workloads")).Output()
	if err != nil {
		return p, fmt.Errorf("planning the naive pools: %w", err)
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return p, fmt.Errorf("reading the naive plan: %w", err)
	}
	return p, nil
}

func distinct(machines []machine, of func(machine) string) int {
	seen := map[string]bool{}
	for _, m := range machines {
		seen[of(m)] = true
	}
	return len(seen)
}

// quantile is the value below which a share of the sorted durations lies.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
