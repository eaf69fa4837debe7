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
type parser func(e *envelope, body []byte) ([]interruption.Event, Refusal)

// parsers are those of all kinds that are acted upon.
var parsers = map[kind]parser{
	{"0", "aws.ec2", "EC2 Spot Instance Interruption Warning"}:                 spot,
	{"0", "aws.ec2", "EC2 Instance Rebalance Recommendation"}:                  rebalance,
	{"0", "aws.ec2", "EC2 Instance State-change Notification"}:                 stateChange,
	{"0", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"}: reservation,
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
func one(e *envelope, body []byte, k interruption.Kind) (interruption.Event, instanceDetail, bool) {
	var d instanceDetail
	ok := decode(body, &d) && d.Detail.Instance != ""
	return interruption.Event{ID: e.ID, Kind: k, Machine: d.Detail.Instance, Text: strings.TrimSpace(d.Detail.Action + d.Detail.State)}, d, ok
}

func spot(e *envelope, body []byte) ([]interruption.Event, Refusal) {
	event, d, ok := one(e, body, interruption.Spot)
	if !ok || !slices.Contains([]string{"terminate", "stop", "hibernate"}, d.Detail.Action) {
		return nil, Malformed
	}
	event.NotBefore = e.Time.Add(warning)
	return []interruption.Event{event}, ""
}

func rebalance(e *envelope, body []byte) ([]interruption.Event, Refusal) {
	event, _, ok := one(e, body, interruption.Rebalance)
	if !ok {
		return nil, Malformed
	}
	return []interruption.Event{event}, ""
}

func reservation(e *envelope, body []byte) ([]interruption.Event, Refusal) {
	event, _, ok := one(e, body, interruption.Reservation)
	if !ok {
		return nil, Malformed
	}
	return []interruption.Event{event}, ""
}

func stateChange(e *envelope, body []byte) ([]interruption.Event, Refusal) {
	event, d, ok := one(e, body, interruption.Stopped)
	if !ok || d.Detail.State == "" {
		return nil, Malformed
	}
	switch d.Detail.State {
	case "stopping", "stopped":
	case "shutting-down", "terminated":
		event.Kind = interruption.Terminated
	default:
		return nil, Irrelevant // pending, running: a machine begins
	}
	return []interruption.Event{event}, ""
}
