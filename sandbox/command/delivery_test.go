package command

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/sqstest"
	"github.com/millwright-dev/millwright/engine/interruption"
)

func TestEventsAreToldOfByMessages(t *testing.T) {
	server := sqstest.New(sqstest.Config{Queues: []string{"interruptions"}})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	at := web.URL + "/111122223333/interruptions"
	spot := interruption.Event{ID: "s", Kind: interruption.Spot, Machine: "n"}
	for _, tt := range []struct {
		d     delivery
		e     interruption.Event
		want  string
		fails string
	}{
		{delivery{queue: at, copies: 3}, spot, "3 messages sent\n", ""},
		{delivery{queue: at, copies: 1, forged: 20, delay: time.Minute}, spot, "20 messages sent\n", ""},
		{delivery{queue: at, copies: 1}, interruption.Event{Kind: interruption.ZoneImpaired}, "", "no message about ZoneImpaired"},
		{delivery{queue: web.URL + "/1/absent", copies: 1}, spot, "", "does not exist"},
		{delivery{queue: "interruptions", copies: 1}, spot, "", "--sqs"},
	} {
		var out bytes.Buffer
		err := tt.d.send(t.Context(), &out, tt.e, time.Now())
		if out.String() != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%+v: %q, %v", tt.d, out.String(), err)
		}
	}
	if n := server.Counts("interruptions").Waiting; n != 23 {
		t.Errorf("%d messages wait", n)
	}
}
