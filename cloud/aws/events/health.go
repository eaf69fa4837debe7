package events

import (
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/interruption"
)

type healthDetail struct {
	Detail struct {
		ARN         string `json:"eventArn"`
		Service     string `json:"service"`
		Code        string `json:"eventTypeCode"`
		Category    string `json:"eventTypeCategory"`
		Status      string `json:"statusCode"`
		Start       string `json:"startTime"`
		End         string `json:"endTime"`
		Description []struct {
			Latest string `json:"latestDescription"`
		} `json:"eventDescription"`
		Entities []struct {
			Value  string `json:"entityValue"`
			Status string `json:"status"`
		} `json:"affectedEntities"`
	} `json:"detail"`
}

// kinds are what events of AWS Health mean for a machine and for a volume, by their category.
var kinds = map[string]struct{ machine, volume interruption.Kind }{
	"scheduledChange":     {interruption.Maintenance, interruption.VolumeImpaired},
	"issue":               {interruption.ServiceIssue, interruption.VolumeImpaired},
	"accountNotification": {interruption.ServiceIssue, interruption.ServiceIssue},
}

// health reads what AWS Health says of instances and volumes, whichever service it is about.
// Their start is when the machine is affected at the latest: AWS names no later deadline in
// these messages. An event that names other things only, such as a cluster, is none of ours.
func health(_ *envelope, body []byte) ([]interruption.Event, Refused) {
	var d healthDetail
	if err := decode(body, &d); err != nil {
		return nil, malformed("%v", err)
	}
	if d.Detail.ARN == "" || d.Detail.Code == "" {
		return nil, malformed("detail.eventArn and detail.eventTypeCode are required")
	}
	kind, known := kinds[d.Detail.Category]
	if !known {
		return nil, Refused{Refusal: Irrelevant}
	}
	start, startOK := moment(d.Detail.Start)
	_, endOK := moment(d.Detail.End)
	// Maintenance of EC2 is always about instances.
	strict := d.Detail.Service == "EC2" && kind.machine == interruption.Maintenance
	switch {
	case !startOK || !endOK:
		return nil, malformed("detail.startTime and detail.endTime are not times such as Mon, 19 Oct 2026 07:00:00 GMT")
	case strict && len(d.Detail.Entities) == 0:
		return nil, malformed("detail.affectedEntities names no instance")
	}
	event := interruption.Event{State: interruption.Announced}
	if d.Detail.Category == "scheduledChange" {
		event.NotBefore = start // that of anything else is past
	}
	if len(d.Detail.Description) > 0 {
		event.Text = d.Detail.Description[0].Latest
	}
	event.State = state(d.Detail.Code, d.Detail.Status, event.Text)
	var out []interruption.Event
	for _, entity := range d.Detail.Entities {
		e := event
		e.ID = d.Detail.ARN
		if e.State == interruption.Announced && (entity.Status == "RESOLVED" || entity.Status == "UNIMPAIRED") {
			e.State = interruption.Completed // of this one
		}
		switch id := entity.Value[strings.LastIndexByte(entity.Value, '/')+1:]; {
		case identified(id, "vol-"):
			e.Kind, e.Volume = kind.volume, id
		case strict || instance(id):
			e.Kind, e.Machine = kind.machine, id
		default:
			continue
		}
		if e.Kind == interruption.Maintenance {
			e.Code = code(d.Detail.Code)
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, Refused{Refusal: Irrelevant}
	}
	return out, Refused{}
}

// moment reads a time in the form that Health uses; empty is none.
func moment(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	t, err := time.Parse(time.RFC1123, s)
	return t.UTC(), err == nil && strings.HasSuffix(s, " GMT")
}

// code reads what the maintenance does from the name of its type; empty if the
// name says nothing that is known.
func code(name string) interruption.Code {
	for _, c := range []interruption.Code{interruption.Retirement, interruption.Reboot, interruption.Network, interruption.Power, interruption.Stop} {
		if strings.Contains(name, "_"+strings.ToUpper(string(c))+"_") {
			return c
		}
	}
	return ""
}

// state reads how the event stands. AWS goes on sending events that are over,
// with a word in front of their text.
func state(code, status, text string) interruption.State {
	lower := strings.ToLower(strings.TrimSpace(text))
	switch {
	case strings.HasPrefix(lower, "[cancel"), strings.HasSuffix(code, "_CANCELLED"), strings.HasSuffix(code, "_CANCELED"):
		return interruption.Cancelled
	case strings.HasPrefix(lower, "[completed]"), status == "closed":
		return interruption.Completed
	}
	return interruption.Announced
}
