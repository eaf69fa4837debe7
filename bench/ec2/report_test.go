package ec2

import (
	"errors"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/sandbox/aws"
)

func TestAReportHasAColumnForEachPlayAndSaysWhatWasNotFinished(t *testing.T) {
	text := Report(Config{}, []Measure{
		{Scenario: "the examples", Contestant: "Karpenter", Pods: 3, Wanted: 3, Half: 1, Last: 2, Machines: 1, Types: []string{"m5.large"}, Price: 0.1,
			Calls: aws.Counts{Calls: map[string]int{"ec2:CreateFleet": 1, "ec2:CreateTags": 1}}, Cleared: true, Gone: 4},
		{Scenario: "the examples", Contestant: "Millwright", Pods: 2, Wanted: 3, Half: 1, Machines: 2, Types: []string{"m5.large"}, Price: 0.2,
			Calls:  aws.Counts{Calls: map[string]int{"ec2:CreateFleet": 5}, Throttled: map[string]int{"ec2:CreateFleet": 2}},
			CutOff: &CutOff{Before: 4, Adopted: 3, Launched: 5, Alive: 3, Claims: 2, Doubles: 1}, Err: errors.New("not finished within 8m0s")},
	})
	for _, line := range []string{
		"| the examples | Karpenter | 3 of 3 | 1.0 | 2.0 | 1 | 1 | 0.100 | 0 | 2 | 0 |",
		"| the examples | Millwright | 2 of 3 | 1.0 | – | 2 | 1 | 0.200 | 0 | 5 | 2 |",
		"| action | Karpenter: the examples | Millwright: the examples |",
		"| ec2:CreateFleet | 1 | 5 (2 refused) |",
		"| ec2:CreateTags | 1 | 0 |",
		"| the examples | Karpenter | 4.0 | nothing |",
		"| Millwright | 4 | 3 | 5 | 3 | 2 | 1 |",
		"**Not finished**: the examples with Millwright: not finished within 8m0s.",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, text)
		}
	}
}
