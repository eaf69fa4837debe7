package servertime_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/controllers/servertime"
)

var noon = time.Date(2026, 3, 11, 12, 0, 0, 300_000_000, time.UTC)

// Whatever a process's own clock says, from the first answer on it is as late as it is for the API
// server, to a second.
func TestAClockAgreesWithTheAPIServers(t *testing.T) {
	for skew, told := range map[time.Duration]int{
		0: 0, 200 * time.Millisecond: 0, 9 * time.Second: 0, 10 * time.Minute: 1, -10 * time.Minute: 1, 30 * time.Hour: 1,
	} {
		for _, takes := range []time.Duration{0, 100 * time.Millisecond, 5 * time.Second} {
			t.Run(fmt.Sprintf("%v ahead, answers take %v", skew, takes), func(t *testing.T) {
				theirs, own := noon, clocktesting.NewFakeClock(noon.Add(skew))
				pass := func(d time.Duration) { theirs = theirs.Add(d); own.Step(d) }
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					pass(takes / 2)
					w.Header().Set("Date", theirs.Format(http.TimeFormat))
					w.WriteHeader(http.StatusConflict)
					pass(takes / 2)
				}))
				defer server.Close()
				var reports []time.Duration
				c := servertime.New(own, func(shift time.Duration) { reports = append(reports, shift) })
				client := http.Client{Transport: c.Wrap(http.DefaultTransport)}
				for i := range 20 {
					resp, err := client.Get(server.URL)
					if err != nil {
						t.Fatal(err)
					}
					if err := resp.Body.Close(); err != nil {
						t.Fatal(err)
					}
					off := c.Now().Sub(theirs)
					if off.Abs() > time.Second+takes/2 {
						t.Errorf("answer %d: off by %v", i, off)
					}
					if c.Since(theirs) != off {
						t.Errorf("answer %d: off by %v, and %v since", i, off, c.Since(theirs))
					}
					pass(700 * time.Millisecond)
				}
				if skew == 0 && c.Now() != own.Now() {
					t.Errorf("a clock that is right is shifted by %v", c.Now().Sub(own.Now()))
				}
				if len(reports) != told || told > 0 && (reports[0]+skew).Abs() > time.Second+takes {
					t.Errorf("told %v", reports)
				}
			})
		}
	}
}

// As when the machine's clock is set right.
func TestAClockThatIsSetIsNoticed(t *testing.T) {
	own := clocktesting.NewFakeClock(noon.Add(-10 * time.Minute))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", noon.Format(http.TimeFormat))
	}))
	defer server.Close()
	told := 0
	c := servertime.New(own, func(time.Duration) { told++ })
	client := http.Client{Transport: c.Wrap(http.DefaultTransport)}
	for range 2 {
		resp, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if off := c.Now().Sub(noon); off.Abs() > time.Second {
			t.Errorf("off by %v", off)
		}
		own.SetTime(noon)
	}
	if told != 2 {
		t.Errorf("told %d times", told)
	}
}
