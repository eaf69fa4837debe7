package events_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/cloud/aws/events"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const (
	ours    = "i-0aa11bb22cc33dd44"
	foreign = "i-0ffffffffffffffff"
)

var (
	now    = time.Date(2026, 10, 5, 9, 30, 30, 0, time.UTC)
	reader = events.Reader{Account: "111122223333", Region: "eu-west-1", MaxAge: 5 * time.Minute}
)

// body is a message of a kind about an instance.
func body(source, detailType, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"7f0c2b1e","detail-type":%q,"source":%q,"account":"111122223333",`+
		`"time":"2026-10-05T09:30:00Z","region":"eu-west-1","resources":["arn"],"detail":%s}`, detailType, source, detail)
}

func ec2(detailType, detail string) string { return body("aws.ec2", detailType, detail) }

func health(code, more, text, machine string) string {
	return body("aws.health", "AWS Health Event", fmt.Sprintf(`{"eventArn":"arn:1","service":"EC2","eventTypeCode":%q,"eventTypeCategory":"scheduledChange",%s`+
		`"startTime":"Mon, 19 Oct 2026 07:00:00 GMT","endTime":"Mon, 19 Oct 2026 09:00:00 GMT","eventDescription":[{"language":"en_US","latestDescription":%q}],`+
		`"affectedEntities":[{"entityValue":%q}]}`, code, more, text, machine))
}

// genuine are messages of every kind about an instance.
func genuine(id string) []string {
	return []string{
		ec2("EC2 Spot Instance Interruption Warning", `{"instance-id":"`+id+`","instance-action":"terminate"}`),
		ec2("EC2 Instance Rebalance Recommendation", `{"instance-id":"`+id+`"}`),
		ec2("EC2 Instance State-change Notification", `{"instance-id":"`+id+`","state":"stopping"}`),
		ec2("EC2 Instance State-change Notification", `{"instance-id":"`+id+`","state":"terminated"}`),
		ec2("EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"`+id+`","instance-action":"terminate"}`),
		health("AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED", "", "text", id),
	}
}

func TestEveryKindIsRead(t *testing.T) {
	start := "2026-10-19T07:00:00Z"
	for _, tt := range []struct{ body, want string }{
		{genuine(ours)[0], "SpotInterruption  Announced 2026-10-05T09:32:00Z"},
		{genuine(ours)[1], "RebalanceRecommendation  Announced -"},
		{genuine(ours)[2], "InstanceStopped  Announced -"},
		{genuine(ours)[3], "InstanceTerminated  Announced -"},
		{genuine(ours)[4], "ReservationInterruption  Announced -"},
		{genuine(ours)[5], "Maintenance Retirement Announced " + start},
		{health("AWS_EC2_INSTANCE_STOP_SCHEDULED", "", "x", ours), "Maintenance Stop Announced " + start},
		{health("AWS_EC2_SYSTEM_REBOOT_MAINTENANCE_SCHEDULED", "", "x", ours), "Maintenance Reboot Announced " + start},
		{health("AWS_EC2_INSTANCE_NETWORK_MAINTENANCE_SCHEDULED", "", "x", ours), "Maintenance Network Announced " + start},
		{health("AWS_EC2_INSTANCE_POWER_MAINTENANCE_SCHEDULED", "", "x", ours), "Maintenance Power Announced " + start},
		{health("AWS_EC2_SOMETHING_NEW", "", "x", ours), "Maintenance  Announced " + start},
		{health("AWS_EC2_INSTANCE_STOP_SCHEDULED", "", "[Completed] x", ours), "Maintenance Stop Completed " + start},
		{health("AWS_EC2_INSTANCE_STOP_SCHEDULED", "", "[Canceled] x", ours), "Maintenance Stop Cancelled " + start},
		{health("AWS_EC2_INSTANCE_STOP_SCHEDULED", `"statusCode":"closed",`, "x", ours), "Maintenance Stop Completed " + start},
	} {
		list, refusal := reader.Read([]byte(tt.body), now)
		if refusal.Refusal != "" || len(list) != 1 || list[0].Machine != ours {
			t.Errorf("%s: %d events, refusal %q", tt.body, len(list), refusal)
			continue
		}
		if got := show(list[0]); got != tt.want {
			t.Errorf("%s\nis %q, want %q", tt.body, got, tt.want)
		}
	}
}

// concerning is what AWS Health says of a service, and of a machine or a volume.
func concerning(service, category, entity string) string {
	return strings.NewReplacer(`"EC2"`, fmt.Sprintf("%q", service), "scheduledChange", category).Replace(health("AWS_"+service+"_SOMETHING", "", "text", entity))
}

func TestWhatAnyServiceSaysOfAnInstanceOrAVolumeIsRead(t *testing.T) {
	const volume, start = "vol-0aa11bb22cc33dd44", "2026-10-19T07:00:00Z"
	for _, tt := range []struct{ service, category, entity, want string }{
		{"EBS", "issue", volume, "VolumeImpaired  Announced - /" + volume},
		{"EBS", "issue", "arn:aws:ec2:eu-west-1:111122223333:volume/" + volume, "VolumeImpaired  Announced - /" + volume},
		{"EBS", "scheduledChange", volume, "VolumeImpaired  Announced " + start + " /" + volume},
		{"EBS", "accountNotification", volume, "ServiceIssue  Announced - /" + volume},
		{"EKS", "issue", ours, "ServiceIssue  Announced - " + ours + "/"},
		{"EC2", "issue", ours, "ServiceIssue  Announced - " + ours + "/"},
		{"EKS", "scheduledChange", "arn:aws:ec2:eu-west-1:111122223333:instance/" + ours, "Maintenance  Announced " + start + " " + ours + "/"},
	} {
		list, refusal := reader.Read([]byte(concerning(tt.service, tt.category, tt.entity)), now)
		if refusal.Refusal != "" || len(list) != 1 {
			t.Errorf("%v: %d events, refusal %q", tt, len(list), refusal)
			continue
		}
		if got := show(list[0]) + " " + list[0].Machine + "/" + list[0].Volume; got != tt.want {
			t.Errorf("%v is %q", tt, got)
		}
	}
}

func show(e interruption.Event) string {
	at, state := "-", e.State
	if !e.NotBefore.IsZero() {
		at = e.NotBefore.Format(time.RFC3339)
	}
	if state == "" {
		state = interruption.Announced
	}
	return fmt.Sprintf("%s %s %s %s", e.Kind, e.Code, state, at)
}

func TestMaintenanceOfAnInstanceCountsBesideThatOfOtherThings(t *testing.T) {
	both := strings.Replace(genuine(ours)[5], `[{"entityValue"`, `[{"entityValue":"h-0aa11bb22cc33dd44"},{"entityValue"`, 1)
	list, refusal := reader.Read([]byte(both), now)
	if len(list) != 1 || list[0].Machine != ours {
		t.Errorf("%v, refused as %q", list, refusal)
	}
}

// AWS Health goes on listing what it has come to the end with beside what it has not.
func TestWhatIsOverForOneInstanceIsNotForAnother(t *testing.T) {
	both := strings.Replace(genuine(ours)[5], `[{"entityValue":"`+ours+`"`, `[{"entityValue":"i-0bb11bb22cc33dd44","status":"RESOLVED"},{"entityValue":"i-0cc11bb22cc33dd44","status":"UNIMPAIRED"},{"entityValue":"`+ours+`","status":"PENDING"`, 1)
	list, refusal := reader.Read([]byte(both), now)
	var got []string
	for _, e := range list {
		got = append(got, string(e.State))
	}
	if want := "Completed Completed Announced"; strings.Join(got, " ") != want {
		t.Errorf("they are %v, want %s, refused as %q", got, want, refusal)
	}
}

func TestWhatDoesNotCountIsRefusedWithTheReason(t *testing.T) {
	spot := genuine(ours)[0]
	replaced := func(old, with string) string {
		if !strings.Contains(spot, old) {
			t.Fatalf("%s is not in the body", old)
		}
		return strings.Replace(spot, old, with, 1)
	}
	for _, tt := range []struct {
		name, body string
		want       events.Refusal
	}{
		{"nothing", "", events.Malformed},
		{"a list", "[" + spot + "]", events.Malformed},
		{"half", spot[:len(spot)/2], events.Malformed},
		{"something behind it", spot + "{}", events.Malformed},
		{"a name twice", replaced(`"account"`, `"account":"999988887777","account"`), events.Malformed},
		{"a name in capitals", replaced(`"account"`, `"ACCOUNT"`), events.Foreign},
		{"no ID", replaced(`"id":"7f0c2b1e"`, `"id":""`), events.Malformed},
		{"a time in words", replaced("2026-10-05T09:30:00Z", "yesterday"), events.Malformed},
		{"no instance", replaced(ours, ""), events.Malformed},
		{"an instance that is none", replaced(ours, "i-0aa11bb22cc33dd4*"), events.Malformed},
		{"an action that is none", replaced("terminate", "dance"), events.Malformed},
		{"another version", replaced(`"version":"0"`, `"version":"1"`), events.Unknown},
		{"another source", replaced("aws.ec2", "com.example"), events.Unknown},
		{"a machine that begins", strings.Replace(genuine(ours)[2], "stopping", "running", 1), events.Irrelevant},
		{"a cluster alone", strings.Replace(concerning("EKS", "issue", ours), ours, "arn:aws:eks:eu-west-1:111122223333:cluster/demo", 1), events.Irrelevant},
		{"nothing in particular", strings.Replace(concerning("RDS", "issue", ours), `{"entityValue":"`+ours+`"}`, "", 1), events.Irrelevant},
		{"another category", strings.Replace(genuine(ours)[5], "scheduledChange", "investigation", 1), events.Irrelevant},
		{"maintenance of a host alone", strings.Replace(genuine(ours)[5], ours, "h-0aa11bb22cc33dd44", 1), events.Malformed},
		{"maintenance of nothing", strings.Replace(genuine(ours)[5], `{"entityValue":"`+ours+`"}`, "", 1), events.Malformed},
		{"a start in another form", strings.Replace(genuine(ours)[5], "Mon, 19 Oct 2026 07:00:00 GMT", "2026-10-19", 1), events.Malformed},
		{"another account", replaced("111122223333", "999988887777"), events.Foreign},
		{"another region", replaced("eu-west-1", "us-east-1"), events.Foreign},
		{"too old", replaced("09:30:00Z", "09:20:00Z"), events.Stale},
		{"from the future", replaced("09:30:00Z", "09:40:00Z"), events.Stale},
		{"too long", replaced("terminate", strings.Repeat("x", 1<<20)), events.Malformed},
	} {
		list, refusal := reader.Read([]byte(tt.body), now)
		if refusal.Refusal != tt.want || len(list) > 0 {
			t.Errorf("%s: refused as %q with %d events, want %q", tt.name, refusal, len(list), tt.want)
		}
		if why := refusal.Why; (why == "") == (tt.want == events.Malformed) {
			t.Errorf("%s: refused as %s because %q", tt.name, tt.want, why)
		}
	}
}

// TestForgeriesAndNoiseCauseNoAction reads bodies that are forged in one place or
// damaged in some, and asks the engine about whatever is left of them.
func TestForgeriesAndNoiseCauseNoAction(t *testing.T) {
	const bodies = 10_000
	r := rand.New(rand.NewPCG(7, 7))
	labels := map[string]string{snapshot.InitializedLabel: "true"}
	s := &snapshot.Snapshot{Now: now, Nodes: []*snapshot.Node{{
		Name: "n", Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}},
		Claim: &snapshot.Claim{Name: "n", ProviderID: "aws:///eu-west-1b/" + ours},
	}}}
	counts := map[events.Refusal]int{}
	strays := 0
	for range bodies {
		text := forge(r)
		list, refusal := reader.Read([]byte(text), now)
		counts[refusal.Refusal]++
		d := interruption.Decide(s, list)
		if len(d.Responses) > 0 {
			t.Fatalf("something is done about\n%s", text)
		}
		strays += len(d.Strays)
	}
	total := 0
	for _, refusal := range []events.Refusal{"", events.Malformed, events.Unknown, events.Irrelevant, events.Foreign, events.Stale} {
		if counts[refusal] == 0 {
			t.Errorf("no body is refused as %q: the corpus does not try it", refusal)
		}
		total += counts[refusal]
	}
	if total != bodies || strays < counts[""] {
		t.Errorf("%d of %d bodies are counted, and %d of %d that were read are strays", total, bodies, strays, counts[""])
	}
}

// forge is a body that must not count.
func forge(r *rand.Rand) string {
	about := func(id string) string { list := genuine(id); return list[r.IntN(len(list))] }
	switch r.IntN(6) {
	case 0: // a lie about where it comes from
		return strings.Replace(about(ours), "111122223333", fmt.Sprintf("%012d", r.IntN(1e9)), 1)
	case 1: // a lie about the region
		return strings.Replace(about(ours), "eu-west-1", []string{"us-east-1", "eu-west-1a", "", "EU-WEST-1"}[r.IntN(4)], 1)
	case 2: // a replay
		at := now.Add(-reader.MaxAge - time.Duration(1+r.Int64N(int64(1000*time.Hour))))
		return strings.Replace(about(ours), "2026-10-05T09:30:00Z", at.Format(time.RFC3339Nano), 1)
	case 3: // cut off
		text := about(ours)
		return text[:r.IntN(len(text))]
	case 4: // somebody else's machine, with bytes damaged
		text := []byte(about(foreign))
		for range r.IntN(4) {
			text[r.IntN(len(text))] = byte(r.IntN(256))
		}
		return string(text)
	default: // a kind that is not known
		return strings.Replace(about(ours), `"version":"0"`, fmt.Sprintf(`"version":"%d"`, 1+r.IntN(9)), 1)
	}
}

func FuzzReadingNeverPanicsAndOnlyCountsWhatIsOurs(f *testing.F) {
	for _, b := range genuine(ours) {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, refusal := reader.Read(body, now)
		if (len(list) == 0) == (refusal.Refusal == "") {
			t.Errorf("%d events and the refusal %q", len(list), refusal)
		}
		for _, e := range list {
			if e.ID == "" || e.Machine == "" || now.Sub(e.Issued) > reader.MaxAge {
				t.Errorf("an event that should not count: %+v", e)
			}
		}
	})
}
