package instances_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/instances"
)

// ec2 knows some machines, and takes a second for each answer.
type ec2 struct {
	mu     sync.Mutex
	states map[string]string
	// calls are how many machines each was about, by action.
	calls map[string][]int
	fails error
	// protected are machines that may not be ended, and with them no other of their call; EC2 names
	// the first of them unless it is silent.
	protected []string
	silent    bool
	// subnet is that of all.
	subnet string
}

func (e *ec2) called(action string, n int) func() {
	e.mu.Lock()
	e.calls[action] = append(e.calls[action], n)
	e.mu.Unlock()
	time.Sleep(time.Second)
	e.mu.Lock()
	return e.mu.Unlock
}

func (e *ec2) Instances(context.Context, map[string]string) ([]api.Instance, error) {
	defer e.called("list", len(e.states))()
	var out []api.Instance
	for id, state := range e.states {
		out = append(out, api.Instance{ID: id, State: state, Subnet: e.subnet})
	}
	return out, e.fails
}

func (e *ec2) InstancesByID(_ context.Context, ids []string) ([]api.Instance, error) {
	defer e.called("read", len(ids))()
	var out []api.Instance
	for _, id := range ids {
		if s, ok := e.states[id]; ok {
			out = append(out, api.Instance{ID: id, State: s})
		}
	}
	return out, e.fails
}

func (e *ec2) Instance(_ context.Context, id string) (api.Instance, error) {
	defer e.called("read alone", 1)()
	if s, ok := e.states[id]; ok {
		return api.Instance{ID: id, State: s}, nil
	}
	return api.Instance{}, cloud.ErrNotFound
}

func (e *ec2) Terminate(_ context.Context, ids []string) (map[string]string, []string, error) {
	defer e.called("end", len(ids))()
	before := map[string]string{}
	var missing []string
	for _, id := range ids {
		s, ok := e.states[id]
		if !ok {
			missing = append(missing, id)
		}
		before[id] = s
	}
	if len(missing) > 0 {
		return nil, missing, cloud.ErrNotFound
	}
	for _, id := range ids {
		if slices.Contains(e.protected, id) && e.silent {
			return nil, nil, &cloud.RefusedError{Err: errors.New("OperationNotPermitted")}
		} else if slices.Contains(e.protected, id) {
			return nil, []string{id}, &cloud.RefusedError{Err: errors.New(id + " may not be terminated")}
		}
	}
	for _, id := range ids {
		if e.states[id] != "terminated" {
			e.states[id] = "shutting-down"
		}
	}
	return before, nil, e.fails
}

// world has n machines that run.
func world(n int) (*ec2, *instances.Machines) {
	e := &ec2{states: map[string]string{}, calls: map[string][]int{}}
	for i := range n {
		e.states[id(i)] = "running"
	}
	return e, instances.New(instances.Config{AWS: e, Clock: clock.RealClock{}, Window: 50 * time.Millisecond})
}

func id(n int) string { return fmt.Sprintf("i-%03d", n) }

// all does something for n machines at once, and joins what failed.
func all(n int, do func(id string) error) error {
	failed := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { failed[i] = do(id(i)) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

func TestAThousandQuestionsAreAFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(1000)
		err := all(1000, func(id string) error {
			i, err := m.Get(t.Context(), id)
			if err == nil && i.ID != id {
				return fmt.Errorf("asked for %s, got %s", id, i.ID)
			}
			return err
		})
		if err := errors.Join(err, all(1000, func(id string) error { return m.Terminate(t.Context(), id) })); err != nil {
			t.Fatal(err)
		}
		if want := []int{200, 200, 200, 200, 200}; !slices.Equal(e.calls["read"], want) || !slices.Equal(e.calls["end"], []int{500, 500}) {
			t.Errorf("the calls were about %v machines, want %v, and [500 500]", e.calls, want)
		}
	})
}

func TestOneQuestionWaitsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := world(1)
		began := time.Now()
		if _, err := m.Get(t.Context(), id(0)); err != nil || time.Since(began) > 1100*time.Millisecond {
			t.Errorf("error %v after %v, and EC2 takes a second", err, time.Since(began))
		}
	})
}

func TestWhoeverGivesUpLeavesTheCallToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := world(2)
		hasty, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		err := all(2, func(which string) error {
			if which == id(0) {
				if _, err := m.Get(hasty, which); !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("the hasty one got %w", err)
				}
				return nil
			}
			_, err := m.Get(t.Context(), which)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestOneThatIsNotThereKeepsNothingFromTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(3)
		delete(e.states, id(1))
		for name, do := range map[string]func(string) error{
			"reading": func(id string) error { _, err := m.Get(t.Context(), id); return err },
			"ending":  func(id string) error { return m.Terminate(t.Context(), id) },
		} {
			err := all(3, func(which string) error {
				if err := do(which); (which == id(1)) != errors.Is(err, cloud.ErrNotFound) {
					return fmt.Errorf("%s: %w", which, err)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestOneThatIsProtectedKeepsNoOtherFromEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(3)
		e.protected = []string{id(1)}
		err := all(3, func(which string) error {
			m.Launched(api.Instance{ID: which, Zone: "zone-a", ZoneID: "use1-az1"})
			var refused *cloud.RefusedError
			var failed *cloud.TerminationError
			err := m.Terminate(t.Context(), which)
			if errors.As(err, &failed) && (failed.Zone != "zone-a" || failed.ZoneID != "use1-az1") {
				return fmt.Errorf("%s: failed in %q, %q", which, failed.Zone, failed.ZoneID)
			}
			if (which == id(1)) != errors.As(err, &refused) || (failed != nil) != (refused != nil) {
				return fmt.Errorf("%s: %w", which, err)
			}
			return nil
		})
		if err != nil || e.states[id(0)] != "shutting-down" || e.states[id(2)] != "shutting-down" {
			t.Errorf("they are %v, error %v", e.states, err)
		}
		asked := len(e.calls["end"])
		if err := m.Terminate(t.Context(), id(1)); err == nil || len(e.calls["end"]) != asked+1 {
			t.Errorf("no other can be what keeps EC2 from ending it, and it was asked %d times, error %v", len(e.calls["end"])-asked, err)
		}
		e.protected = nil
		if err := m.Terminate(t.Context(), id(1)); err != nil || e.states[id(1)] != "shutting-down" {
			t.Errorf("without its protection it is %s, error %v", e.states[id(1)], err)
		}
	})
}

// endAll tells n machines to end at once, and returns how many calls that took and how many are not ending.
func endAll(t *testing.T, e *ec2, m *instances.Machines, n int) (calls, left int) {
	before := len(e.calls["end"])
	_ = all(n, func(which string) error { return m.Terminate(t.Context(), which) })
	for i := range n {
		if e.states[id(i)] == "running" {
			left++
		}
	}
	return len(e.calls["end"]) - before, left
}

func TestFewCallsAreMadeHoweverManyMachinesMayNotEnd(t *testing.T) {
	for name, test := range map[string]struct {
		protected int
		silent    bool
		passes    int
	}{
		"one":                          {1, false, 1},
		"one, which EC2 does not name": {1, true, 3},
		"a dozen":                      {12, false, 3},
		"all":                          {60, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, m := world(60)
				e.silent = test.silent
				for i := range test.protected {
					e.protected = append(e.protected, id(i*60/test.protected))
				}
				for pass := range 10 {
					calls, left := endAll(t, e, m, 60)
					if ended := left == test.protected; calls > 5 || ended != (pass+1 >= test.passes) {
						t.Errorf("pass %d: %d calls, and %d machines run", pass+1, calls, left)
					}
				}
				// Of those that are protected no other keeps one from its end for long.
				e.protected = e.protected[1:]
				for range 4 {
					endAll(t, e, m, 60)
				}
				if e.states[id(0)] != "shutting-down" {
					t.Errorf("without its protection it is %s", e.states[id(0)])
				}
				e.protected = nil
				if calls, left := endAll(t, e, m, 60); calls > 1 || left > 0 {
					t.Errorf("without any protection %d calls, and %d machines run", calls, left)
				}
			})
		})
	}
}

func TestMachinesThatAreGoneTakeOneCallMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(60)
		for i := range 20 {
			delete(e.states, id(3*i))
		}
		if calls, left := endAll(t, e, m, 60); calls != 2 || left > 0 {
			t.Errorf("%d calls, and %d machines run", calls, left)
		}
	})
}

func TestAFaultIsToldToAllWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(3)
		e.fails = &cloud.ThrottledError{Err: errors.New("slow down")}
		var throttled *cloud.ThrottledError
		for n := range 3 {
			if _, err := m.Get(t.Context(), id(n)); !errors.As(err, &throttled) {
				t.Errorf("answered %v", err)
			}
		}
		if len(e.calls["read alone"]) > 0 {
			t.Error("asked again for each although EC2 is throttling")
		}
	})
}

func TestAMachineThatIsEndingIsOnlyLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(1)
		for range 3 {
			if err := m.Terminate(t.Context(), id(0)); err != nil {
				t.Fatal(err)
			}
		}
		e.states[id(0)] = "terminated"
		for range 2 {
			if err := m.Terminate(t.Context(), id(0)); !errors.Is(err, cloud.ErrNotFound) {
				t.Errorf("of a machine that is gone: %v", err)
			}
		}
		if len(e.calls["end"]) != 1 {
			t.Errorf("it was ended %d times", len(e.calls["end"]))
		}
		// A process that has just started does not know that it is ending.
		m = instances.New(instances.Config{AWS: e, Clock: clock.RealClock{}})
		if err := m.Terminate(t.Context(), id(0)); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("of a machine that was gone before: %v", err)
		}
	})
}

func TestAMachineThatEC2DoesNotShowYetIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := world(0)
		m.Launched(api.Instance{ID: id(0), State: "pending", Launched: time.Now()})
		var throttled *cloud.ThrottledError
		if i, err := m.Get(t.Context(), id(0)); err != nil || i.State != "pending" {
			t.Errorf("it is %+v, error %v", i, err)
		}
		if err := m.Terminate(t.Context(), id(0)); !errors.As(err, &throttled) {
			t.Errorf("ending it: %v", err)
		}
		time.Sleep(instances.Lag)
		if _, err := m.Get(t.Context(), id(0)); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("after %v: %v", instances.Lag, err)
		}
	})
}

func TestWhatIsRememberedIsWhatWasListedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(2)
		for _, subnet := range []string{"old", "new"} {
			e.subnet = subnet
			if _, err := m.List(t.Context()); err != nil {
				t.Fatal(err)
			}
			delete(e.states, id(1))
		}
		if i, ok := m.Known(id(0)); !ok || i.Subnet != "new" {
			t.Errorf("it is %+v, %v", i, ok)
		}
		if _, ok := m.Known(id(1)); ok {
			t.Error("a machine that EC2 does not list is known")
		}
	})
}

// A list that is asked for while another is under way is the next one: that one may lack what
// was launched since.
func TestAHundredListsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := world(1)
		list := func(string) error {
			list, err := m.List(t.Context())
			if err == nil && len(list) != len(e.states) {
				err = fmt.Errorf("%d machines are listed of %d", len(list), len(e.states))
			}
			return err
		}
		var late sync.WaitGroup
		late.Go(func() {
			time.Sleep(500 * time.Millisecond)
			e.mu.Lock()
			e.states[id(1)] = "pending"
			e.mu.Unlock()
			if err := list(""); err != nil {
				t.Error(err)
			}
		})
		if err := all(100, func(string) error { _, err := m.List(t.Context()); return err }); err != nil {
			t.Error(err)
		}
		late.Wait()
		if len(e.calls["list"]) != 2 {
			t.Errorf("%d calls, want 2", len(e.calls["list"]))
		}
	})
}
