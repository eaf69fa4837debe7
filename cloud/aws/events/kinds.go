package events

import (
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/interruption"
)

// kind names a kind of message.
type kind struct{ version, source, detailType string }

// parser reads the details of one kind.
type parser func(e *envelope, body []byte) ([]interruption.Event, Refused)

// parsers are those of all kinds that are acted upon.
var parsers = map[kind]parser{
	{"0", "aws.ec2", "EC2 Spot Instance Interruption Warning"}:                 spot,
	{"0", "aws.ec2", "EC2 Instance Rebalance Recommendation"}:                  plain(interruption.Rebalance),
	{"0", "aws.ec2", "EC2 Instance State-change Notification"}:                 stateChange,
	{"0", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"}: plain(interruption.Reservation),
	{"0", "aws.health", "AWS Health Event"}:                                    health,
}

// warning is how long before a spot machine is reclaimed its warning comes.
const warning = 2 * time.Minute

type instanceDetail struct {
	Detail struct {
		Instance string `json:"instance-id"`
		Action   string `json:"instance-action"`
		State    string `json:"state"`
	} `json:"detail"`
}

// one reads the details of a message about one instance.
func one(e *envelope, body []byte, k interruption.Kind) (interruption.Event, instanceDetail, Refused) {
	var d instanceDetail
	if err := decode(body, &d); err != nil {
		return interruption.Event{}, d, malformed("%v", err)
	}
	if d.Detail.Instance == "" {
		return interruption.Event{}, d, malformed("detail.instance-id is required")
	}
	return interruption.Event{ID: e.ID, Kind: k, Machine: d.Detail.Instance, Text: strings.TrimSpace(d.Detail.Action + d.Detail.State)}, d, Refused{}
}

// plain reads messages that say no more than which instance they are about.
func plain(k interruption.Kind) parser {
	return func(e *envelope, body []byte) ([]interruption.Event, Refused) {
		event, _, refused := one(e, body, k)
		return []interruption.Event{event}, refused
	}
}

func spot(e *envelope, body []byte) ([]interruption.Event, Refused) {
	event, d, refused := one(e, body, interruption.Spot)
	actions := []string{"terminate", "stop", "hibernate"}
	if refused.Refusal == "" && !slices.Contains(actions, d.Detail.Action) {
		refused = malformed("detail.instance-action: %q is not one of %s", d.Detail.Action, strings.Join(actions, ", "))
	}
	event.NotBefore = e.Time.Add(warning)
	return []interruption.Event{event}, refused
}

func stateChange(e *envelope, body []byte) ([]interruption.Event, Refused) {
	event, d, refused := one(e, body, interruption.Stopped)
	switch {
	case refused.Refusal != "", d.Detail.State == "stopping", d.Detail.State == "stopped":
	case d.Detail.State == "":
		refused = malformed("detail.state is required")
	case d.Detail.State == "shutting-down", d.Detail.State == "terminated":
		event.Kind = interruption.Terminated
	default:
		refused = Refused{Refusal: Irrelevant} // pending, running: a machine begins
	}
	return []interruption.Event{event}, refused
}
