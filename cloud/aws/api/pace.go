package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"golang.org/x/time/rate"
)

// pace keeps every action to the rate that AWS turns out to allow, and otherwise retries as
// the SDK does. AWS limits by action. The SDK's adaptive mode has one bucket for a whole
// service, so that a burst of launches would slow down every question, and wakes all who wait
// at once for one token. It is safe for concurrent use.
type pace struct {
	aws.RetryerV2

	mu       sync.Mutex
	byAction map[string]*bucket
}

func newPace() *pace {
	return &pace{RetryerV2: retry.NewStandard(), byAction: map[string]*bucket{}}
}

func (p *pace) of(action string) *bucket {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, ok := p.byAction[action]
	if !ok {
		b = &bucket{turn: make(chan struct{}, 1), limit: rate.NewLimiter(rate.Inf, 1), retries: retry.NewStandard()}
		p.byAction[action] = b
	}
	return b
}

// held names the actions whose calls have lately waited for long, in order. Their rates are left out:
// they change with every call, and a condition has the words.
func (p *pace) held(service string) []string {
	p.mu.Lock()
	buckets := maps.Clone(p.byAction)
	p.mu.Unlock()
	var out []string
	for _, action := range slices.Sorted(maps.Keys(buckets)) {
		if b := buckets[action]; b.isLate() {
			out = append(out, fmt.Sprintf("%s:%s: AWS refuses calls as too frequent, so they wait for their turn", service, action))
		}
	}
	return out
}

// GetAttemptToken waits for the action's turn.
func (p *pace) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	b := p.of(middleware.GetOperationName(ctx))
	if err := b.wait(ctx); err != nil {
		return nil, err
	}
	return b.answered, nil
}

// GetRetryToken is refused when most calls of the action fail.
func (p *pace) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	return p.of(middleware.GetOperationName(ctx)).retries.GetRetryToken(ctx, err)
}

// How a bucket learns, in calls per second: it falls back on a refusal, not more often than
// every settle, and with each success goes a little faster again.
const (
	slowest  = 0.5
	fallBack = 0.7
	speedUp  = 0.1
	settle   = 500 * time.Millisecond
)

// A call that has waited for long is late; that is told until a class has been looked at, once a minute.
const (
	long    = 10 * time.Second
	toldFor = 2 * time.Minute
)

// bucket is the rate of one action: without a limit until it is refused.
type bucket struct {
	// turn is held by the one who is next, so that a new limit counts for all who wait.
	turn    chan struct{}
	limit   *rate.Limiter
	retries aws.RetryerV2

	mu     sync.Mutex
	fell   time.Time
	second time.Time
	// done and before are how many calls succeeded in this second and in the one before.
	done, before float64
	// late is when a call had waited for long last.
	late time.Time
}

func (b *bucket) isLate() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.late.IsZero() && time.Since(b.late) < toldFor
}

func (b *bucket) wait(ctx context.Context) error {
	began := time.Now()
	defer func() {
		if now := time.Now(); now.Sub(began) >= long {
			b.mu.Lock()
			b.late = now
			b.mu.Unlock()
		}
	}()
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.turn }()
	return b.limit.Wait(ctx)
}

// answered learns from the outcome of a call.
func (b *bucket) answered(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if passed := now.Sub(b.second); passed >= time.Second {
		b.before, b.done, b.second = b.done, 0, now
		if passed >= 2*time.Second {
			b.before = 0
		}
	}
	limit := b.limit.Limit()
	switch {
	case retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) != aws.TrueTernary:
		b.done++
		if limit != rate.Inf {
			b.limit.SetLimit(limit + speedUp)
		}
	case now.Sub(b.fell) >= settle:
		b.fell = now
		had := rate.Limit(max(b.done, b.before))
		if limit != rate.Inf {
			had = min(had, limit)
		}
		b.limit.SetLimit(max(slowest, fallBack*had))
	}
	return nil
}
