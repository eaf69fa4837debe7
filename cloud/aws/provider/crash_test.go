package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

// cut is a rig that loses the reply of one call.
type cut struct {
	*rig
	lag time.Duration
	// killed has every step that fails taken again by a process that remembers nothing.
	killed bool
	left   atomic.Int64
	// replies are the actions of the calls that count, lost is that of the call.
	mu      sync.Mutex
	replies []string
	lost    string
	// now is the process that is there.
	now *Provider
	// aside are calls that do not count: those of a process's start, and the test's own.
	aside atomic.Bool
}

func (c *cut) lose(action string, w http.ResponseWriter, serve func(http.ResponseWriter)) bool {
	if c.aside.Load() {
		return false
	}
	c.mu.Lock()
	c.replies = append(c.replies, action)
	c.mu.Unlock()
	if c.left.Add(-1) == 0 {
		c.lost = action
		serve(httptest.NewRecorder())
		panic(http.ErrAbortHandler)
	}
	return false
}

func (c *cut) process() *Provider {
	c.aside.Store(true)
	defer c.aside.Store(false)
	p := c.provider()
	p.Isolated = false
	return p
}

// again takes a step until it succeeds.
func (r *cut) again(step func() error) {
	r.t.Helper()
	for n := 0; ; n++ {
		err := step()
		if err == nil {
			return
		}
		if n > 30 {
			r.t.Fatalf("still %v", err)
		}
		if r.killed {
			r.now = r.process()
		}
		r.clock.Step(lookAgain)
	}
}

// story is a class that becomes ready, a machine that comes, is restarted and goes, and the end
// of the class. A step that fails is taken again.
func (r *cut) story() {
	r.t.Helper()
	r.now = r.process()
	class := readyClass()
	class.Status.InstanceProfile = "" // one is made for its role
	r.again(func() error {
		discovering(class)
		_, err := r.now.Resolve(r.t.Context(), class)
		return err
	})
	stored := &awsv1.EC2NodeClass{}
	r.must(r.kube.Get(r.t.Context(), client.ObjectKeyFromObject(class), stored))
	stored.Status.InstanceProfile = class.Status.InstanceProfile
	r.must(r.kube.Update(r.t.Context(), stored))
	req := r.request(r.now, "claim", onDemand)
	var machine cloud.Instance
	r.again(func() (err error) {
		machine, err = r.now.Launch(r.t.Context(), req)
		return err
	})
	r.clock.Step(r.lag)
	r.alone(machine.ProviderID, req.Token)
	r.restart(machine.ProviderID)
	r.alone(machine.ProviderID, req.Token)
	r.again(func() error {
		err := r.now.Terminate(r.t.Context(), machine.ProviderID)
		if err == nil {
			return errors.New("it is shutting down")
		}
		if errors.Is(err, cloud.ErrNotFound) {
			return nil
		}
		return err
	})
	r.again(func() error { return r.now.Release(r.t.Context(), class) })
	r.aside.Store(true)
	r.clean(class)
}

// alone finds fault unless there is one machine, which is the claim's.
func (r *cut) alone(providerID, token string) {
	r.t.Helper()
	r.aside.Store(true)
	defer r.aside.Store(false)
	list, err := r.provider().List(r.t.Context())
	if err != nil || len(list) != 1 || list[0].ProviderID != providerID || list[0].Token != token {
		r.t.Errorf("the claim's machine is %s; there are %v, error %v", providerID, list, err)
	}
}

// restart reboots a machine, stops it and starts it, and gives it tags that it lacks.
func (r *cut) restart(providerID string) {
	r.t.Helper()
	becomes := func(want cloud.State, do func(context.Context, string) error) {
		r.again(func() error {
			i, err := r.now.Get(r.t.Context(), providerID)
			if err == nil && i.State != want {
				err = cmp.Or(do(r.t.Context(), providerID), fmt.Errorf("it is %s, not %s yet", i.State, want))
			}
			return err
		})
	}
	nothing := func(context.Context, string) error { return nil }
	becomes(cloud.Running, nothing)
	r.again(func() error {
		why, err := r.now.Irrestartable(r.t.Context(), providerID)
		if why != "" {
			r.t.Errorf("not to be restarted: %s", why)
		}
		return err
	})
	r.again(func() error { return r.now.Reboot(r.t.Context(), providerID) })
	if list, _, _ := r.cloud.EC2.Instances(); len(list) != 1 || list[0].Reboots == 0 {
		r.t.Errorf("not rebooted: %v", list)
	}
	becomes(cloud.Stopped, func(ctx context.Context, id string) error { return r.now.Stop(ctx, id) })
	becomes(cloud.Running, func(ctx context.Context, id string) error { return r.now.Start(ctx, id) })
	r.cloud.EC2.Untag(providerID[strings.LastIndexByte(providerID, '/')+1:], ec2class.NameTagKey)
	r.again(func() error {
		if _, err := r.now.List(r.t.Context()); err != nil {
			return err
		}
		_, err := r.now.Mark(r.t.Context(), providerID, "claim", "node")
		return err
	})
}

// clean makes sure that nothing is left.
func (r *rig) clean(class *awsv1.EC2NodeClass) {
	r.t.Helper()
	p := r.provider()
	machines, err := p.List(r.t.Context())
	r.must(err)
	names, err := p.templateNames(r.t.Context(), class.Name)
	r.must(err)
	profiles, err := p.AWS.Profiles(r.t.Context(), "/karpenter/")
	r.must(err)
	if len(machines)+len(names)+len(profiles) > 0 {
		r.t.Errorf("left are machines %v, launch templates %v, instance profiles %v", machines, names, profiles)
	}
}

// Whichever reply is lost, whether the process goes on or is killed, and whether EC2 shows
// machines at once or late: one machine for the claim, and in the end nothing. Without -full each
// reply is lost once.
func TestOneMachineForAClaimWhicheverReplyIsLost(t *testing.T) {
	lost, variant := map[string]bool{}, 0
	for _, lag := range []time.Duration{0, 20 * time.Second} {
		for _, killed := range []bool{false, true} {
			variant++
			losing := func(t *testing.T, n int) *cut {
				c := &cut{rig: newRig(t, "m5.large", "m6g.large"), lag: lag, killed: killed}
				c.left.Store(int64(n))
				c.cloud.EC2.SetDelays(ec2test.Delays{Boot: boot, Shutdown: shutdown, Lag: lag})
				c.fault = c.lose
				c.story()
				return c
			}
			times := map[string]int{}
			for n, action := range losing(t, 0).replies {
				times[action]++
				if property.Some(times[action] + variant) {
					t.Run(fmt.Sprintf("lag %v, killed %v, reply %d", lag, killed, n+1), func(t *testing.T) { lost[losing(t, n+1).lost] = true })
				}
			}
		}
	}
	for _, action := range []string{
		"CreateInstanceProfile", "AddRoleToInstanceProfile", "CreateLaunchTemplate", "RunInstances", "CreateFleet", "RebootInstances", "StopInstances", "StartInstances",
		"CreateTags", "TerminateInstances", "DeleteLaunchTemplate", "RemoveRoleFromInstanceProfile", "DeleteInstanceProfile",
	} {
		if !lost[action] {
			t.Errorf("no reply of %s was lost", action)
		}
	}
}
