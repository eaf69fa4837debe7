package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test"
)

// cut is a rig that loses the reply of one call.
type cut struct {
	*rig
	lag time.Duration
	// killed has every step that fails taken again by a process that remembers nothing.
	killed bool
	left   atomic.Int64
	// aside are calls that do not count: those of a process's start, and the test's own.
	aside atomic.Bool
}

func (c *cut) lose(_ string, w http.ResponseWriter, serve func(http.ResponseWriter)) bool {
	if !c.aside.Load() && c.left.Add(-1) == 0 {
		serve(httptest.NewRecorder())
		panic(http.ErrAbortHandler)
	}
	return false
}

func (c *cut) process() *Provider {
	c.aside.Store(true)
	defer c.aside.Store(false)
	return c.provider()
}

// story is a class that becomes ready, a machine that comes and goes, and the end of the
// class. A step that fails is taken again.
func (r *cut) story() {
	r.t.Helper()
	p := r.process()
	again := func(do func() error) {
		r.t.Helper()
		for n := 0; ; n++ {
			err := do()
			if err == nil {
				return
			}
			if n > 30 {
				r.t.Fatalf("still %v", err)
			}
			if r.killed {
				p = r.process()
			}
			r.clock.Step(lookAgain)
		}
	}
	class := readyClass()
	again(func() error {
		discovering(class)
		_, err := p.Resolve(r.t.Context(), class)
		return err
	})
	r.must(client.IgnoreAlreadyExists(r.kube.Create(r.t.Context(), readyClass())))
	req := r.request(p, "claim", onDemand)
	var machine cloud.Instance
	again(func() (err error) {
		machine, err = p.Launch(r.t.Context(), req)
		return err
	})
	r.clock.Step(r.lag)
	r.aside.Store(true)
	list, err := r.provider().List(r.t.Context())
	r.aside.Store(false)
	if err != nil || len(list) != 1 || list[0].ProviderID != machine.ProviderID || list[0].Token != req.Token {
		r.t.Errorf("the claim's machine is %s; there are %v, error %v", machine.ProviderID, list, err)
	}
	again(func() error {
		err := p.Terminate(r.t.Context(), machine.ProviderID)
		if err == nil {
			return errors.New("it is shutting down")
		}
		if errors.Is(err, cloud.ErrNotFound) {
			return nil
		}
		return err
	})
	again(func() error { return p.Release(r.t.Context(), class) })
	r.aside.Store(true)
	r.clean(class)
}

// clean makes sure that nothing is left.
func (r *rig) clean(class *ec2class.EC2NodeClass) {
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
// machines at once or late: one machine for the claim, and in the end nothing.
func TestOneMachineForAClaimWhicheverReplyIsLost(t *testing.T) {
	for _, lag := range []time.Duration{0, 20 * time.Second} {
		for _, killed := range []bool{false, true} {
			for n, more := 1, true; more; n++ {
				t.Run(fmt.Sprintf("lag %v, killed %v, reply %d", lag, killed, n), func(t *testing.T) {
					c := &cut{rig: newRig(t, "m5.large", "m6g.large"), lag: lag, killed: killed}
					c.left.Store(int64(n))
					c.cloud.EC2.SetDelays(ec2test.Delays{Boot: boot, Shutdown: shutdown, Lag: lag})
					c.fault = c.lose
					c.story()
					more = c.left.Load() <= 0
				})
			}
		}
	}
}
