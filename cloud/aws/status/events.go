package status

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// settle is how long a check must have failed before it counts, as in Karpenter.
const settle = 2 * time.Minute

// codes are what EC2's scheduled events do.
var codes = map[types.EventCode]interruption.Code{
	types.EventCodeInstanceStop:       interruption.Stop,
	types.EventCodeInstanceRetirement: interruption.Retirement,
	types.EventCodeInstanceReboot:     interruption.Reboot,
	types.EventCodeSystemReboot:       interruption.Reboot,
	types.EventCodeSystemMaintenance:  "", // its text says what
}

// eventsOf are what stands about one machine.
func eventsOf(s types.InstanceStatus, now time.Time) []cloud.Event {
	var out []cloud.Event
	machine := aws.ToString(s.InstanceId)
	for _, e := range s.Events {
		text := aws.ToString(e.Description)
		if _, known := codes[e.Code]; !known {
			continue // what it does to the machine is not known
		}
		if strings.HasPrefix(text, "[") { // [Completed], [Canceled]: EC2 lists them for another week
			continue
		}
		out = append(out, cloud.Event{
			ID: aws.ToString(e.InstanceEventId), Kind: interruption.Maintenance, Code: code(e.Code, text), Machine: machine,
			NotBefore: aws.ToTime(e.NotBefore), Confirmed: true, Source: Source, Text: text,
		})
	}
	for _, check := range []struct {
		kind    interruption.Kind
		summary *types.InstanceStatusSummary
	}{{interruption.InstanceImpaired, s.InstanceStatus}, {interruption.SystemImpaired, s.SystemStatus}} {
		if check.summary == nil || check.summary.Status != types.SummaryStatusImpaired {
			continue
		}
		for _, d := range check.summary.Details {
			out = append(out, impaired(check.kind, machine, d.Status, d.ImpairedSince, now)...)
		}
	}
	if s.AttachedEbsStatus != nil && s.AttachedEbsStatus.Status == types.SummaryStatusImpaired {
		for _, d := range s.AttachedEbsStatus.Details {
			out = append(out, impaired(interruption.VolumeImpaired, machine, d.Status, d.ImpairedSince, now)...)
		}
	}
	return out
}

// impaired is the event of a check that has failed for long enough.
func impaired(kind interruption.Kind, machine string, status types.StatusType, since *time.Time, now time.Time) []cloud.Event {
	if status != types.StatusTypeFailed || since == nil || now.Sub(*since) < settle {
		return nil
	}
	return []cloud.Event{{
		ID: string(kind) + "-" + machine, Kind: kind, Machine: machine, Confirmed: true, Source: Source,
		Issued: *since, Text: "the check has failed since " + since.UTC().Format(time.RFC3339),
	}}
}

// code reads what an event does; of the maintenance of a host its text says what.
func code(c types.EventCode, text string) interruption.Code {
	if does := codes[c]; does != "" {
		return does
	}
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "network"):
		return interruption.Network
	case strings.Contains(lower, "power"):
		return interruption.Power
	}
	return ""
}
