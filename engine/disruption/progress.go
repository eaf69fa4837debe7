package disruption

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Annotations of claims, by which a command survives a restart.
const (
	// CommandAnnotation is on the claims of machines that go: a Progress in JSON.
	CommandAnnotation = "millwright.dev/disruption"
	// FailureAnnotation is on a claim whose replacement did not become ready: a
	// Failure in JSON.
	FailureAnnotation = "millwright.dev/replacement-failed"
)

// Progress is how far a command has come, as it is written on its claims. All of
// them carry the same.
type Progress struct {
	// ID tells commands apart. It is made of the claims and of when the command was
	// decided, so that an attempt after a failure is another command.
	ID    string `json:"id"`
	Cause Cause  `json:"cause"`
	// Claims are those of the machines that go, by name.
	Claims []string `json:"claims"`
	// Saving is what was promised in $/h; Spend is the most that replacements may
	// cost in $/h, zero for no bound.
	Saving float64 `json:"saving,omitempty"`
	Spend  float64 `json:"spend,omitempty"`
	// Replaced is true once all replacements have been asked for; Replacements are
	// their claims by name.
	Replaced     bool     `json:"replaced,omitempty"`
	Replacements []string `json:"replacements,omitempty"`
}

// Failure is on a claim that was to be replaced and was not.
type Failure struct {
	// Failures is how many commands of the pool have failed in a row.
	Failures int       `json:"failures"`
	At       time.Time `json:"at"`
	// Template is the hash of the pool's template that was tried.
	Template string `json:"template,omitempty"`
}

// String is the progress as an annotation has it.
func (p Progress) String() string {
	text, _ := json.Marshal(p) // strings, numbers and lists cannot fail
	return string(text)
}

// String is the failure as an annotation has it.
func (f Failure) String() string {
	text, _ := json.Marshal(f)
	return string(text)
}

// ReplacementName names the claim of a command's replacement. It is the same for
// every process that takes the command up, so that a machine is asked for once.
func (p Progress) ReplacementName(pool string, i int) string {
	return fmt.Sprintf("%s-%s-%d", pool, p.ID, len(p.Replacements)+i)
}

// progressOf reads a command off a machine. A machine that was marked by others,
// who write no progress, is a command of its own.
func progressOf(n *snapshot.Node) Progress {
	var p Progress
	err := json.Unmarshal([]byte(n.Claim.Annotations[CommandAnnotation]), &p)
	if err != nil || p.ID == "" {
		cause := Cause(n.Claim.Conditions[snapshot.DisruptionReason].Reason)
		if !slices.Contains(append(Causes(), UrgentCauses()...), cause) {
			cause = Empty
		}
		return Progress{ID: n.Claim.Name, Cause: cause, Claims: []string{n.Claim.Name}}
	}
	return p
}

// identify says of which machines a command is that begins now.
func (p *Progress) identify(nodes []*snapshot.Node, now time.Time) {
	h := fnv.New64a()
	fmt.Fprint(h, p.Cause, now.UnixNano())
	for _, n := range nodes {
		p.Claims = append(p.Claims, n.Claim.Name)
		fmt.Fprint(h, n.Claim.Name, n.Claim.UID)
	}
	p.ID = fmt.Sprintf("%010x", h.Sum64()>>24)
}

// marked reads off the marks of one machine how far its command has come: whether
// it is to be marked, has to settle, or is ripe.
func marked(p Progress, n *snapshot.Node, now time.Time) (Step, time.Time) {
	c := n.Claim.Conditions[snapshot.DisruptionReason]
	if !tainted(n) || c.Status != corev1.ConditionTrue || c.Reason != string(p.Cause) {
		return Mark, time.Time{}
	}
	if ripe := c.Since.Add(SettleTime); now.Before(ripe) {
		return Settle, ripe
	}
	return Remove, time.Time{}
}

// pause is a pool's rest after replacements that failed.
type pause struct {
	failures int
	until    time.Time
}

// Rests after failures: the first, and the longest.
const (
	firstPause   = time.Minute
	longestPause = time.Hour
)

// pauses are those of all pools, from what is written on their claims about the templates that
// they have now.
func pauses(s *snapshot.Snapshot) map[string]pause {
	out := map[string]pause{}
	for _, n := range s.Nodes {
		var f Failure
		if n.Claim == nil || json.Unmarshal([]byte(n.Claim.Annotations[FailureAnnotation]), &f) != nil || f.Failures < 1 || s.Now.Sub(f.At) > 2*longestPause {
			continue
		}
		if pool := s.Pool(n.Claim.Pool); pool == nil || f.Template != "" && f.Template != pool.Hash {
			continue
		}
		rest := min(firstPause<<min(f.Failures-1, 6), longestPause)
		if until := f.At.Add(rest); until.After(out[n.Claim.Pool].until) {
			out[n.Claim.Pool] = pause{f.Failures, until}
		}
	}
	return out
}

// resting says that a pool launches no replacements for now.
func (d *decider) resting(pool string) (plan.Reason, bool) {
	p := d.paused[pool]
	if !d.s.Now.Before(p.until) {
		return plan.Reason{}, false
	}
	return plan.Reason{
		Code: plan.ReplacementFailed, Objects: []plan.ObjectRef{plan.PoolRef(pool)},
		Have: fmt.Sprint(p.failures), Until: p.until,
	}, true
}
