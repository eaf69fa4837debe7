package status_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/status"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// ec2 answers every call by its action, and takes down the filters.
type ec2 struct {
	answers map[string]string
	denied  string
	asked   []string
	// throttles is how many of the next calls are refused as too frequent; of pages by
	// their token.
	throttles     int
	throttledPage string
	// behind is by how much its clock is behind ours.
	behind time.Duration
}

func (e *ec2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	action := r.FormValue("Action")
	w.Header().Set("Date", time.Now().Add(-e.behind).UTC().Format(http.TimeFormat))
	e.asked = append(e.asked, strings.TrimSpace(action+" "+r.FormValue("Filter.1.Name")))
	if action == e.denied {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors><RequestID>r</RequestID></Response>`)
		return
	}
	token := r.FormValue("NextToken")
	if e.throttles > 0 || token != "" && token == e.throttledPage {
		e.throttles--
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slower</Message></Error></Errors><RequestID>r</RequestID></Response>`)
		return
	}
	answer := e.answers[action+" "+r.FormValue("Filter.1.Name")]
	if token != "" {
		answer = e.answers[token]
	}
	fmt.Fprintf(w, `<%[1]sResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>%[2]s</%[1]sResponse>`, action, answer)
}

func (e *ec2) inspector(t *testing.T) *status.Inspector {
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	return status.New(aws.Config{Region: "eu-west-1", BaseEndpoint: &web.URL,
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.Backoff = retry.BackoffDelayerFunc(atOnce) })
		},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
	})
}

func atOnce(int, error) (time.Duration, error) { return 0, nil }

func show(list []cloud.Event) string {
	var out []string
	for _, e := range list {
		word := fmt.Sprintf("%s %s %s %v", e.Machine, e.Kind, e.Code, e.Confirmed)
		out = append(out, strings.Join(strings.Fields(word), " "))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func statuses(items ...string) string {
	return "<instanceStatusSet>" + strings.Join(items, "") + "</instanceStatusSet>"
}

func scheduled(machine, code, text string) string {
	return `<item><instanceId>` + machine + `</instanceId><eventsSet><item><instanceEventId>instance-event-` + machine + `</instanceEventId><code>` + code +
		`</code><description>` + text + `</description><notBefore>2026-10-26T06:00:00.000Z</notBefore></item></eventsSet></item>`
}

func failed(machine, check, since string) string {
	return `<item><instanceId>` + machine + `</instanceId><` + check + `><status>impaired</status><details><item><name>reachability</name><status>failed</status><impairedSince>` +
		since + `</impairedSince></item></details></` + check + `></item>`
}

// Which checks have failed for long goes by EC2's clock.
func TestWhatStandsIsListed(t *testing.T) {
	const behind = 20 * time.Minute
	theirs := time.Now().Add(-behind).UTC()
	long, short := theirs.Add(-10*time.Minute).Format(time.RFC3339), theirs.Format(time.RFC3339)
	e := &ec2{behind: behind, answers: map[string]string{
		"DescribeInstanceStatus event.code": statuses(
			scheduled("i-stop", "instance-stop", "The instance is stopped"), scheduled("i-over", "instance-stop", "[Completed] The instance is stopped"),
			scheduled("i-net", "system-maintenance", "Scheduled network maintenance")) + "<nextToken>more</nextToken>",
		"more": statuses(scheduled("i-boot", "system-reboot", "x")),
		"DescribeInstanceStatus instance-status.status": statuses(failed("i-sick", "instanceStatus", long), failed("i-brief", "instanceStatus", short)),
		"DescribeInstanceStatus system-status.status":   statuses(failed("i-host", "systemStatus", long)),
		"DescribeInstanceStatus attached-ebs-status.status": statuses(
			failed("i-disk", "attachedEbsStatus", long)),
	}}
	list, err := e.inspector(t).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := "i-boot Maintenance Reboot true; i-disk VolumeImpaired true; i-host SystemImpaired true; i-net Maintenance Network true; i-sick InstanceImpaired true; i-stop Maintenance Stop true"
	if got := show(list); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, l := range list {
		if l.Source != status.Source || l.ID == "" || l.Kind == interruption.Maintenance && !l.NotBefore.Equal(time.Date(2026, 10, 26, 6, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v", l)
		}
	}
}

func TestOnlyWhatEC2SaysIsConfirmed(t *testing.T) {
	e := &ec2{answers: map[string]string{
		"DescribeInstanceStatus event.code": statuses(scheduled("i-stop", "instance-stop", "x"), scheduled("i-other", "instance-stop", "x")),
		"DescribeInstances instance-id": `<reservationSet><item><instancesSet><item><instanceId>i-off</instanceId><instanceState><name>stopped</name></instanceState></item>` +
			`<item><instanceId>i-on</instanceId><instanceState><name>running</name></instanceState></item></instancesSet></item></reservationSet>`,
		"DescribeSpotInstanceRequests instance-id": `<spotInstanceRequestSet><item><instanceId>i-spot</instanceId><status><code>marked-for-termination</code></status></item>` +
			`<item><instanceId>i-fine</instanceId><status><code>fulfilled</code></status></item></spotInstanceRequestSet>`,
	}}
	var asked []cloud.Event
	for _, a := range []struct {
		machine string
		kind    interruption.Kind
		code    interruption.Code
	}{
		{"i-stop", interruption.Maintenance, interruption.Stop}, {"i-other", interruption.Maintenance, interruption.Reboot},
		{"i-off", interruption.Stopped, ""}, {"i-on", interruption.Stopped, ""}, {"i-off", interruption.Terminated, ""},
		{"i-spot", interruption.Spot, ""}, {"i-fine", interruption.Spot, ""}, {"i-spot", interruption.Rebalance, ""},
	} {
		asked = append(asked, cloud.Event{ID: "x", Kind: a.kind, Code: a.code, Machine: "aws:///eu-west-1a/" + a.machine})
	}
	confirmed, err := e.inspector(t).Confirm(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	want := "aws:///eu-west-1a/i-off InstanceStopped true; aws:///eu-west-1a/i-spot SpotInterruption true; i-stop Maintenance Stop true"
	if got := show(confirmed); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e.asked = nil
	if _, err := e.inspector(t).Confirm(t.Context(), asked[7:]); err != nil || len(e.asked) > 0 {
		t.Errorf("about what no API knows: asked %v, %v", e.asked, err)
	}
}

func TestACodeThatNobodyKnowsIsNoEvent(t *testing.T) {
	e := &ec2{answers: map[string]string{
		"DescribeInstanceStatus event.code": statuses(scheduled("i-new", "instance-quantum-leap", "Something new"), scheduled("i-host", "system-maintenance", "Something about the host")),
		"DescribeInstanceStatus instance-status.status": statuses(
			`<item><instanceId>i-starting</instanceId><instanceStatus><status>initializing</status></instanceStatus></item>`,
			`<item><instanceId>i-unknown</instanceId><instanceStatus><status>impaired</status><details><item><status>insufficient-data</status></item></details></instanceStatus></item>`),
	}}
	list, err := e.inspector(t).List(t.Context())
	if got := show(list); err != nil || got != "i-host Maintenance true" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAThrottledCallIsRepeatedAndHalfAListIsNone(t *testing.T) {
	e := &ec2{throttles: 2, answers: map[string]string{
		"DescribeInstanceStatus event.code": statuses(scheduled("i-stop", "instance-stop", "x")) + "<nextToken>more</nextToken>",
		"more":                              statuses(scheduled("i-boot", "system-reboot", "x")),
	}}
	list, err := e.inspector(t).List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("throttled twice: %s, %v", show(list), err)
	}
	e.throttledPage = "more"
	list, err = e.inspector(t).List(t.Context())
	var throttled *cloud.ThrottledError
	if !errors.As(err, &throttled) || list != nil {
		t.Errorf("half of a list: %s, %v", show(list), err)
	}
}

func TestMissingRightsAreNamed(t *testing.T) {
	e := &ec2{denied: "DescribeInstanceStatus"}
	_, err := e.inspector(t).List(t.Context())
	var denied *cloud.UnauthorizedError
	if !errors.As(err, &denied) || denied.Action != "ec2:DescribeInstanceStatus" {
		t.Errorf("got %v", err)
	}
}
