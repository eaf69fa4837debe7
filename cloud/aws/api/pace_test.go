package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"golang.org/x/time/rate"
)

// called makes n calls of an action one after another, each to a server that allows perSecond.
func called(t *testing.T, p *pace, action string, server *rate.Limiter, n int) (refused int, took time.Duration) {
	t.Helper()
	b, began := p.of(action), time.Now()
	for range n {
		if err := b.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var answer error
		if !server.Allow() {
			refused++
			answer = &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
		}
		if err := b.answered(answer); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	return refused, time.Since(began)
}

func TestEachActionLearnsItsOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		refused, took := called(t, p, "CreateFleet", rate.NewLimiter(5, 50), 500)
		// What is refused is lost: 450 calls at 5 a second, and those besides.
		if refused > 100 || took > 110*time.Second {
			t.Errorf("of 500 launches at 5 a second %d were refused, in %v", refused, took)
		}
		if _, took := called(t, p, "DescribeInstances", rate.NewLimiter(rate.Inf, 0), 500); took > time.Second {
			t.Errorf("500 questions, which are not limited, took %v", took)
		}
		if refused, _ := called(t, p, "CreateFleet", rate.NewLimiter(50, 1), 1000); refused > 100 {
			t.Errorf("at 50 a second %d of 1000 were refused", refused)
		}
		if limit := p.byAction["CreateFleet"].limit.Limit(); limit < 25 {
			t.Errorf("the limit stayed at %.1f a second although 50 are allowed", limit)
		}
	})
}

func TestWhoeverWaitsForATurnCanGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		b := p.of("CreateFleet")
		b.limit.SetLimit(0.01)
		if err := b.wait(t.Context()); err != nil {
			t.Fatal(err) // the token that every bucket has
		}
		go func() { _ = b.wait(t.Context()) }()
		synctest.Wait()
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.wait(hasty); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("answered %v", err)
		}
		time.Sleep(200 * time.Second)
	})
}

// Calls that wait for long are told of while they do, and for two minutes after; a burst that is over
// within seconds is not.
func TestCallsThatWaitForLongAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		called(t, p, "CreateFleet", rate.NewLimiter(5, 50), 60)
		if held := p.held("ec2"); len(held) > 0 {
			t.Errorf("told after a short burst: %v", held)
		}
		p.of("CreateFleet").limit.SetLimit(0.5)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { called(t, p, "CreateFleet", rate.NewLimiter(rate.Inf, 0), 1) })
		}
		time.Sleep(11 * time.Second)
		before := p.held("ec2")
		time.Sleep(9 * time.Second)
		if held := strings.Join(p.held("ec2"), "\n"); !strings.HasPrefix(held, "ec2:CreateFleet: ") || strings.Contains(held, "\n") {
			t.Errorf("while calls wait for long, told is %q", held)
		}
		all.Wait()
		if after := p.held("ec2"); !slices.Equal(after, before) {
			t.Errorf("what is told changes with the rate: %q, then %q", before, after)
		}
		time.Sleep(toldFor)
		if held := p.held("ec2"); len(held) > 0 {
			t.Errorf("still told: %v", held)
		}
	})
}
