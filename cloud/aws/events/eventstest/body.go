package eventstest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/engine/interruption"
)

// Origin is where a message says that it comes from.
type Origin struct {
	Account, Region string
	Time            time.Time
}

// detailTypes are the names of kinds of aws.ec2.
var detailTypes = map[interruption.Kind]string{
	interruption.Spot:        "EC2 Spot Instance Interruption Warning",
	interruption.Rebalance:   "EC2 Instance Rebalance Recommendation",
	interruption.Stopped:     "EC2 Instance State-change Notification",
	interruption.Terminated:  "EC2 Instance State-change Notification",
	interruption.Reservation: "EC2 Capacity Reservation Instance Interruption Warning",
}

// codes are the middle of the names of scheduled changes.
var codes = map[interruption.Code]string{
	interruption.Stop: "INSTANCE_STOP", interruption.Retirement: "PERSISTENT_INSTANCE_RETIREMENT", interruption.Reboot: "SYSTEM_REBOOT_MAINTENANCE",
	interruption.Network: "INSTANCE_NETWORK_MAINTENANCE", interruption.Power: "INSTANCE_POWER_MAINTENANCE",
}

// Body is the message in which EventBridge tells of an event. AWS tells of some
// kinds in no message: that is an error. When a spot machine goes follows from the
// origin's time.
func Body(o Origin, e interruption.Event) (string, error) {
	source, detailType, detail := "aws.ec2", detailTypes[e.Kind], map[string]any{"instance-id": e.Machine}
	switch e.Kind {
	case interruption.Spot, interruption.Reservation:
		detail["instance-action"] = "terminate"
	case interruption.Stopped:
		detail["state"] = "stopping"
	case interruption.Terminated:
		detail["state"] = "shutting-down"
	case interruption.Rebalance:
	case interruption.Maintenance, interruption.ServiceIssue:
		source, detailType, detail = "aws.health", "AWS Health Event", health(e)
	case interruption.VolumeImpaired:
		if e.Volume == "" {
			return "", errors.New("AWS sends no message about a failed check of volumes")
		}
		source, detailType, detail = "aws.health", "AWS Health Event", health(e)
	default:
		return "", fmt.Errorf("AWS sends no message about %s", e.Kind)
	}
	return envelope(o, e.ID, source, detailType, detail)
}

// StateChange is the message in which EventBridge tells of a change of an instance's state:
// pending, running, stopping, stopped, shutting-down or terminated.
func StateChange(o Origin, id, instance, state string) (string, error) {
	return envelope(o, id, "aws.ec2", detailTypes[interruption.Terminated], map[string]any{"instance-id": instance, "state": state})
}

func envelope(o Origin, id, source, detailType string, detail map[string]any) (string, error) {
	text, err := json.Marshal(map[string]any{
		"version": "0", "id": id, "detail-type": detailType, "source": source, "account": o.Account,
		"time": o.Time.UTC().Format(time.RFC3339), "region": o.Region, "resources": []string{}, "detail": detail,
	})
	return string(text), err
}

func health(e interruption.Event) map[string]any {
	const layout = "Mon, 02 Jan 2006 15:04:05 GMT"
	status, end := "upcoming", e.End()
	text := "maintenance is scheduled"
	switch e.State {
	case interruption.Cancelled:
		text = "[Canceled] " + text
	case interruption.Completed:
		text, status = "[Completed] "+text, "closed"
	}
	service, category, what := "EC2", "scheduledChange", "AWS_EC2_"+codes[e.Code]+"_SCHEDULED"
	switch {
	case e.Volume != "":
		service, category, what = "EBS", "issue", "AWS_EBS_DEGRADED_EBS_VOLUME_PERFORMANCE"
	case e.Kind == interruption.ServiceIssue:
		service, category, what = "EKS", "issue", "AWS_EKS_OPERATIONAL_ISSUE"
	}
	return map[string]any{
		"eventArn": e.ID, "service": service, "eventTypeCategory": category, "statusCode": status,
		"eventTypeCode": what,
		"startTime":     e.NotBefore.UTC().Format(layout), "endTime": end.UTC().Format(layout),
		"eventDescription": []map[string]string{{"language": "en_US", "latestDescription": text}},
		"affectedEntities": []map[string]string{{"entityValue": cmp.Or(e.Volume, e.Machine)}},
	}
}

// Forge is a message that must not count, made from one about a machine of ours and
// one about another's: from another account or region, replayed, cut off,
// about a stranger with bytes damaged, or of a version that does not exist.
func Forge(r *rand.Rand, o Origin, ours, stranger interruption.Event) string {
	body := func(o Origin, e interruption.Event) string {
		text, err := Body(o, e)
		if err != nil {
			panic(err) // the kinds are the caller's constants
		}
		return text
	}
	switch r.IntN(6) {
	case 0:
		o.Account = fmt.Sprintf("%012d", r.IntN(1e9))
	case 1:
		o.Region = []string{"us-gov-east-1", "eu-west-9", "", "EU-WEST-1"}[r.IntN(4)]
	case 2:
		o.Time = o.Time.Add(-time.Hour - time.Duration(r.Int64N(int64(1000*time.Hour))))
	case 3:
		text := body(o, ours)
		return text[:r.IntN(len(text))]
	case 4:
		text := []byte(body(o, stranger))
		for range r.IntN(4) {
			text[r.IntN(len(text))] = byte(r.IntN(256))
		}
		return strings.ToValidUTF8(string(text), "?")
	default:
		return strings.Replace(body(o, ours), `"version":"0"`, fmt.Sprintf(`"version":"%d"`, 1+r.IntN(9)), 1)
	}
	return body(o, ours)
}
