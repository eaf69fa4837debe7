package awstest

import (
	"errors"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Call is one that was answered.
type Call struct {
	At time.Time
	// Caller is the access key.
	Caller string
	// Action is as IAM writes it: ec2:CreateFleet.
	Action string
	// Error is the code of the answer, empty if it is none.
	Error string `json:",omitempty"`
	// Failures are the codes of errors within an answer that is none, as CreateFleet has
	// them.
	Failures []string `json:",omitempty"`
	// Input has the model's names.
	Input map[string]any `json:",omitempty"`
}

// kept is how many calls are remembered at least.
const kept = 10_000

// note remembers a call.
func (c *Cloud) note(call *wire.Request, answer any, err error) {
	if call == nil || call.Operation == nil || call.Service.Name == "sqs" {
		return
	}
	out := Call{At: c.config.Clock.Now(), Caller: call.AccessKey, Action: call.Service.Name + ":" + call.Operation.Name, Input: call.Input}
	if partial, ok := answer.(interface{ Failures() []string }); ok && err == nil {
		out.Failures = partial.Failures()
	}
	if err != nil {
		out.Error = err.Error()
		if api := (*wire.Error)(nil); errors.As(err, &api) {
			out.Error = api.Code
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.record) >= 2*kept {
		c.record = slices.Delete(c.record, 0, kept)
	}
	c.record = append(c.record, out)
}

// Record lists the latest calls, all but those of SQS, the oldest first.
func (c *Cloud) Record() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.record)
}
