package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// ledger is what the calls of AWS say in their order.
type ledger struct {
	// fleets are those that were asked for, refused those that were told of sold-out
	// offerings.
	fleets, refused int
	// detached counts volumes.
	detached int
	actions  map[string]int
}

// read goes through the calls. An instance that was terminated while a volume was attached
// is an error.
func read(record []awstest.Call) (ledger, error) {
	l := ledger{actions: map[string]int{}}
	for _, c := range record {
		if c.Caller != aws.DriverKey {
			l.actions[c.Action]++
		}
		if c.Error == "" && c.Action == "ec2:CreateFleet" {
			l.fleets++
			if slices.Contains(c.Failures, "InsufficientInstanceCapacity") {
				l.refused++
			}
		}
	}
	var err error
	l.detached, err = aws.DetachedFirst(record)
	return l, err
}

// calls names the actions that changed something, and counts the others.
func (l *ledger) calls() string {
	var words []string
	reads := 0
	for _, action := range slices.Sorted(maps.Keys(l.actions)) {
		_, name, _ := strings.Cut(action, ":")
		if strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List") {
			reads += l.actions[action]
			continue
		}
		words = append(words, fmt.Sprintf("%d %s", l.actions[action], name))
	}
	return fmt.Sprintf("%s, and %d to read", strings.Join(words, ", "), reads)
}
