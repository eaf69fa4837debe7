package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// inProcess calls a handler without a network, so that time can stand still around it. Every
// call takes a while.
type inProcess struct {
	http.Handler
	latency time.Duration
}

func (d inProcess) Do(req *http.Request) (*http.Response, error) {
	time.Sleep(d.latency)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, req)
	answer := w.Result()
	answer.Request = req
	return answer, nil
}

// workers is how many claims are served at once.
const workers = 100

// machineCount is how many machines the tests of scale launch. Without -full only the first
// of them does.
func machineCount() int {
	if property.Full() {
		return 1000
	}
	return 250
}

// onlyInFull skips a test without -full.
func onlyInFull(t *testing.T) {
	t.Helper()
	if !property.Full() {
		t.Skip("a variant of the test before, played with -full")
	}
}

// thousand launches and ends a thousand machines, or a quarter without -full, against EC2's
// documented limits, and returns the emulator that has counted.
func thousand(t *testing.T, prepare func(*awstest.Cloud, []catalog.Choice)) *awstest.Cloud {
	r := &rig{t: t, calls: map[string]int{}}
	var err error
	r.cloud, err = awstest.New(awstest.Config{Seed: 1, Types: few(t, "m5.large", "c5.large", "m6g.large"), Delays: ec2test.Delays{Boot: boot, Shutdown: shutdown}})
	r.must(err)
	r.kube = kubernetes(readyClass())
	config := r.config(aws.Config{HTTPClient: inProcess{r.cloud, 200 * time.Millisecond}})
	config.Clock, config.Window = clock.RealClock{}, 50*time.Millisecond
	p := New(config)
	r.must(p.Refresh(t.Context()))
	req := r.request(p, "claim", func(catalog.Choice) bool { return true })
	prepare(r.cloud, req.Choices)
	r.cloud.SetLimits(awstest.DocumentedLimits())

	ids := make([]string, machineCount())
	began := time.Now()
	patiently(t, func(n int) error {
		own := req
		own.Claim, own.Token = fmt.Sprintf("claim-%d", n), fmt.Sprintf("uid-%d", n)
		i, err := p.Launch(t.Context(), own)
		ids[n] = i.ProviderID
		return err
	})
	t.Logf("%d machines launched in %v", len(ids), time.Since(began).Round(time.Second))
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Error("two claims have the same machine")
	}
	began = time.Now()
	patiently(t, func(n int) error {
		i, err := p.Get(t.Context(), ids[n])
		if err == nil && i.State != cloud.Running {
			err = errors.New("it is " + string(i.State))
		}
		return err
	})
	t.Logf("all seen running after %v", time.Since(began).Round(time.Second))
	began = time.Now()
	patiently(t, func(n int) error {
		err := p.Terminate(t.Context(), ids[n])
		if err == nil {
			err = errors.New("it is shutting down")
		}
		if errors.Is(err, cloud.ErrNotFound) {
			err = nil
		}
		return err
	})
	t.Logf("all gone after %v", time.Since(began).Round(time.Second))
	if left, err := p.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%d machines are left, error %v", len(left), err)
	}
	return r.cloud
}

// patiently does something for every machine, again and again with the controllers' pauses,
// and gives up after an hour.
func patiently(t *testing.T, do func(n int) error) {
	t.Helper()
	turns := make(chan struct{}, workers)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var wg sync.WaitGroup
	for n := range machineCount() {
		wg.Go(func() {
			for pause := time.Second; ; pause = min(2*pause, 10*time.Second) {
				turns <- struct{}{}
				err := do(n)
				<-turns
				if err == nil {
					return
				}
				select {
				case <-ctx.Done():
					t.Errorf("machine %d: still %v", n, err)
					return
				case <-time.After(pause):
				}
			}
		})
	}
	wg.Wait()
}

// counted prints the calls by action, and holds them against what is allowed.
func counted(t *testing.T, c *awstest.Cloud, most map[string]int) {
	t.Helper()
	all, throttled := c.Calls()
	for _, action := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-36s %5d, of these refused %d", action, all[action], throttled[action])
	}
	for action, n := range most {
		if all[action] > n {
			t.Errorf("%s was called %d times, want %d at most", action, all[action], n)
		}
	}
	if refused := throttled["ec2:CreateFleet"]; refused > 2*workers {
		t.Errorf("%d launches were refused for coming too fast: the pace was not learned", refused)
	}
}

func TestAThousandMachinesWithinTheDocumentedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := thousand(t, func(*awstest.Cloud, []catalog.Choice) {})
		n := machineCount()
		counted(t, c, map[string]int{"ec2:CreateFleet": n + 250, "ec2:CreateLaunchTemplate": 20, "ec2:DescribeInstances": 30 + n/6, "ec2:TerminateInstances": n / 25, "ec2:CreateTags": 0})
	})
}

func TestAThousandMachinesWhenHalfIsSoldOut(t *testing.T) {
	onlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c := thousand(t, func(c *awstest.Cloud, choices []catalog.Choice) {
			for n, choice := range choices {
				if k := choice.Key(); n%2 == 0 {
					if err := c.EC2.SetCapacity(strings.Join([]string{k.Type, k.Zone, k.CapacityType}, "/"), 0); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
		n := machineCount()
		counted(t, c, map[string]int{"ec2:CreateFleet": n + 300, "ec2:DescribeInstances": 30 + n/6, "ec2:TerminateInstances": n / 25})
	})
}

func TestAThousandMachinesThatEC2ShowsLate(t *testing.T) {
	onlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c := thousand(t, func(c *awstest.Cloud, _ []catalog.Choice) {
			c.EC2.SetDelays(ec2test.Delays{Boot: boot, Shutdown: shutdown, Lag: 30 * time.Second})
		})
		n := machineCount()
		counted(t, c, map[string]int{"ec2:CreateFleet": n + 250, "ec2:DescribeInstances": 30 + n/3, "ec2:TerminateInstances": n / 25})
	})
}
