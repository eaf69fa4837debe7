package terraform

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/source"
)

// events is what a module has of queues and rules, of which the former are fed by the latter.
type events struct {
	queues   []queue
	policies []policy
	rules    []rule
}

// rule is one of EventBridge; label is what its resource is called.
type rule struct {
	label   string
	pattern account.Pattern
}

type queue struct {
	address    string
	Name       string `json:"name"`
	Retention  int    `json:"message_retention_seconds"`
	Visibility int    `json:"visibility_timeout_seconds"`
	// Takes is set for a queue of dead letters.
	Takes string `json:"redrive_allow_policy"`
}

type policy struct {
	address, text string
}

// of is the part of a module that a resource is in.
func (d *Document) of(r Resource) *events {
	module, _, _ := split(r.Address)
	if d.events == nil {
		d.events = map[string]*events{}
	}
	if d.events[module] == nil {
		d.events[module] = &events{}
	}
	return d.events[module]
}

func (d *Document) queue(r Resource) error {
	q := queue{address: r.Address}
	if err := r.decode(&q); err != nil {
		return err
	}
	e := d.of(r)
	e.queues = append(e.queues, q)
	return nil
}

func (d *Document) policy(r Resource) error {
	var v struct {
		Policy string `json:"policy"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	e := d.of(r)
	e.policies = append(e.policies, policy{r.Address, v.Policy})
	return nil
}

func (d *Document) rule(r Resource) error {
	var v struct {
		Pattern string `json:"event_pattern"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	var p account.Pattern
	if v.Pattern != "" {
		if err := decode.JSON([]byte(v.Pattern), &p); err != nil {
			return fmt.Errorf("event_pattern: %w", err)
		}
	}
	_, resource, _ := split(r.Address)
	_, label, _ := strings.Cut(resource, ".")
	e := d.of(r)
	e.rules = append(e.rules, rule{label, p})
	return nil
}

// heard are the patterns that feed the queues of a module: those of its own rules, or if it has
// none of the rules of the module that calls it, of those called like it if there are any, as
// aws_cloudwatch_event_rule.karpenter is beside module.karpenter_sqs; and those of rules outside
// of all modules that rulesFix has named after it.
func (d *Document) heard(module string) []account.Pattern {
	rules := d.events[module].rules
	if at := strings.LastIndex(module, "module."); at >= 0 {
		name := innermost(module)
		if caller := d.events[strings.TrimSuffix(module[:at], ".")]; len(rules) == 0 && caller != nil {
			rules = slices.DeleteFunc(slices.Clone(caller.rules), func(r rule) bool { return !strings.HasPrefix(name, r.label) })
			if len(rules) == 0 {
				rules = caller.rules
			}
		}
		if root := d.events[""]; root != nil {
			added := slices.DeleteFunc(slices.Clone(root.rules), func(r rule) bool { return !strings.HasPrefix(r.label, name+"_") })
			rules = slices.Concat(rules, added)
		}
	}
	out := make([]account.Pattern, len(rules))
	for i, r := range rules {
		out[i] = r.pattern
	}
	return out
}

// Queues are those through which a controller hears of EC2: of modules with a rule about it.
func (d *Document) Queues() ([]account.Queue, error) {
	var out []account.Queue
	for _, module := range slices.Sorted(maps.Keys(d.events)) {
		e := d.events[module]
		kinds := account.Heard(d.heard(module))
		if len(kinds) == 0 {
			continue
		}
		queues := slices.DeleteFunc(slices.Clone(e.queues), func(q queue) bool { return q.Takes != "" })
		for _, q := range queues {
			made := account.Queue{
				Name: q.address, Kinds: kinds, Retention: time.Duration(q.Retention) * time.Second, Visibility: time.Duration(q.Visibility) * time.Second,
				AddRules: rulesFix(q),
				SetRetention: func(d time.Duration) *doctor.Fix {
					return argument(q.address, "message_retention_seconds", fmt.Sprint(int(d.Seconds())))
				},
			}
			if err := e.setPolicy(&made, len(queues)); err != nil {
				return nil, err
			}
			out = append(out, made)
		}
	}
	return out, nil
}

// setPolicy gives a queue its policy: of several the one whose text names it.
func (e *events) setPolicy(q *account.Queue, queues int) error {
	for _, p := range e.policies {
		name := e.queues[slices.IndexFunc(e.queues, func(x queue) bool { return x.address == q.Name })].Name
		if p.text == "" || queues > 1 && !strings.Contains(p.text, cmp.Or(name, "\x00")) {
			continue
		}
		var text map[string]any
		if err := decode.JSON([]byte(p.text), &text); err != nil {
			return fmt.Errorf("%s: policy: %w", p.address, err)
		}
		plain, err := source.Plain(text)
		if err != nil {
			return err
		}
		q.Policy = plain
		q.SetPolicy = func(policy map[string]any) *doctor.Fix {
			return argument(p.address, "policy", "jsonencode("+expression(policy, "  ")+")")
		}
	}
	return nil
}

// rulesFix adds a rule and a target for each kind of event: beside the queue, or, as the files of
// a module may be read-only, beside the call of the outermost module, where heard finds them.
func rulesFix(q queue) func(kinds []string) *doctor.Fix {
	module, resource, key := split(q.address)
	if key != "" {
		resource += "[" + key + "]"
	}
	do, prefix, before := "beside the resource "+q.address, "", ""
	if module != "" {
		outermost := "module." + nameOf(strings.TrimPrefix(module, "module."))
		do, prefix, resource = "beside "+outermost, innermost(module)+"_", "data.aws_sqs_queue.announcements"
		before = fmt.Sprintf("data \"aws_sqs_queue\" \"announcements\" {\n  name       = %s\n  depends_on = [%s]\n}\n", quoted(cmp.Or(q.Name, "QUEUE")), outermost)
	}
	return func(kinds []string) *doctor.Fix {
		var b strings.Builder
		b.WriteString(before)
		for _, kind := range kinds {
			label := prefix + strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(kind), " ", "_"), "-", "_")
			pattern := map[string]any{"source": []any{account.EventSources()[kind]}, "detail-type": []any{kind}}
			fmt.Fprintf(&b, "resource \"aws_cloudwatch_event_rule\" %q {\n  event_pattern = jsonencode(%s)\n}\n", label, expression(pattern, "  "))
			fmt.Fprintf(&b, "resource \"aws_cloudwatch_event_target\" %q {\n  rule = aws_cloudwatch_event_rule.%s.name\n  arn  = %s.arn\n}\n", label, label, resource)
		}
		return &doctor.Fix{Form: "Terraform", Do: do, Text: b.String(), File: strings.TrimSuffix(fileOf(q.address), ".tf.txt") + "_rules.tf.txt"}
	}
}

// innermost is what the last module of a path such as module.eks[0].module.karpenter is called.
func innermost(module string) string {
	return nameOf(module[strings.LastIndex(module, "module.")+len("module."):])
}

// nameOf is the name that a path begins with.
func nameOf(path string) string { return path[:strings.IndexAny(path+".", ".[")] }
