package account

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Queue is one through which a controller hears what the cloud announces. What is not known is
// zero, and no check takes offence at it.
type Queue struct {
	// Name is what people call it, such as module.karpenter.aws_sqs_queue.this[0].
	Name string
	// Policy is the queue's, as JSON has it.
	Policy map[string]any
	// Retention is how long a message is kept, Visibility how long it is hidden while one
	// receiver has it.
	Retention, Visibility time.Duration
	// Kinds are the detail types that rules send to it, sorted; nil if that is not known.
	Kinds []string

	// SetPolicy, SetRetention and AddRules are the fixes, in the form that the queue is kept in.
	SetPolicy    func(policy map[string]any) *finding.Fix
	SetRetention func(time.Duration) *finding.Fix
	AddRules     func(kinds []string) *finding.Fix
}

// EventSources are the kinds of events that a controller acts upon, and where each is from.
func EventSources() map[string]string {
	return map[string]string{
		"AWS Health Event":                       "aws.health",
		"EC2 Spot Instance Interruption Warning": "aws.ec2",
		"EC2 Instance Rebalance Recommendation":  "aws.ec2",
		"EC2 Instance State-change Notification": "aws.ec2",
		// Capacity reservations that are taken back.
		"EC2 Capacity Reservation Instance Interruption Warning": "aws.ec2",
	}
}

// Pattern is what a rule hears. One without detail types hears all of its sources.
type Pattern struct {
	Source     []string `json:"source"`
	DetailType []string `json:"detail-type"`
}

// Heard are the kinds of EventSources that rules hear, sorted; not nil.
func Heard(rules []Pattern) []string {
	heard := []string{}
	for kind, from := range EventSources() {
		if slices.ContainsFunc(rules, func(p Pattern) bool {
			return slices.Contains(p.Source, from) && (len(p.DetailType) == 0 || slices.Contains(p.DetailType, kind))
		}) {
			heard = append(heard, kind)
		}
	}
	slices.Sort(heard)
	return heard
}

func (q Queue) ref() plan.ObjectRef { return plan.ObjectRef{Kind: "Queue", Name: q.Name} }

// QueuesThatAreDeaf do not hear of some kind of event.
func QueuesThatAreDeaf(queues []Queue) []finding.Finding {
	var out []finding.Finding
	for _, q := range queues {
		missing := slices.DeleteFunc(slices.Sorted(maps.Keys(EventSources())), func(kind string) bool { return slices.Contains(q.Kinds, kind) })
		if q.Kinds == nil || len(missing) == 0 {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: q.ref(), Field: "rules",
			Message: fmt.Sprintf("send no %s: machines end without a drain when that comes", strings.Join(missing, ", no ")),
			Advice:  "add a rule for each", Fix: q.AddRules(missing),
		})
	}
	return out
}

// QueuesThatAreOpen take messages from any account.
func QueuesThatAreOpen(queues []Queue) []finding.Finding {
	var out []finding.Finding
	for _, q := range queues {
		closed, at := closing(q.Policy)
		if at < 0 {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Error, Object: q.ref(), Field: fmt.Sprintf("policy.Statement[%d].Principal", at),
			Message: "is everybody, without a condition: any account can send a message that has machines drained",
			Advice:  "let only the services in that pass events on", Fix: q.SetPolicy(closed),
		})
	}
	return out
}

// closing is a policy whose open statements let only services in that pass events on, and the
// first of those statements; negative if none is open.
func closing(policy map[string]any) (closed map[string]any, at int) {
	at = -1
	statements, _ := policy["Statement"].([]any)
	list := slices.Clone(statements)
	for i, s := range list {
		statement, _ := s.(map[string]any)
		if statement["Effect"] != "Allow" || statement["Condition"] != nil || !anyAccount(statement["Principal"]) {
			continue
		}
		if at < 0 {
			at = i
		}
		statement = maps.Clone(statement)
		statement["Principal"] = map[string]any{"Service": []any{"events.amazonaws.com", "sqs.amazonaws.com"}}
		list[i] = statement
	}
	closed = maps.Clone(policy)
	if closed != nil {
		closed["Statement"] = list
	}
	return closed, at
}

// anyAccount reports whether a principal is any account.
func anyAccount(principal any) bool {
	switch p := principal.(type) {
	case string:
		return p == "*"
	case []any:
		return slices.ContainsFunc(p, anyAccount)
	case map[string]any:
		return anyAccount(p["AWS"])
	}
	return false
}

// QueuesThatForget keep a message for less than two attempts.
func QueuesThatForget(queues []Queue) []finding.Finding {
	var out []finding.Finding
	for _, q := range queues {
		visibility := q.Visibility
		if visibility == 0 {
			visibility = 30 * time.Second // the service's default
		}
		if q.Retention == 0 || q.Retention >= 2*visibility {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Warning, Object: q.ref(), Field: "message_retention_seconds",
			Message: fmt.Sprintf("is %d, while a message that is being handled is hidden for %d: one that could not be handled is forgotten before it is seen again", int(q.Retention.Seconds()), int(visibility.Seconds())),
			Advice:  "keep messages for several attempts", Fix: q.SetRetention(max(5*time.Minute, 4*visibility)),
		})
	}
	return out
}
