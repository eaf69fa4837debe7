// Package rights remembers which calls of AWS the credentials do not allow, and those of a queue
// that is not there, of which SQS says the same. It sees the answers
// to all calls of the clients that are made with a configuration, whichever part of the
// provider makes them.
//
//	calls ──► Record.Watch ──► AWS
//	               └────────► Missing: action and resource, in AWS's words
package rights

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/millwright-dev/millwright/cloud/aws/fleet"
)

// Record is what was refused last. Its zero value is ready; it is safe for concurrent use.
type Record struct {
	mu sync.Mutex
	// refused are the messages of AWS, by action.
	refused map[string]string
}

// Watch has the clients that are made with a configuration from now on tell of each answer.
func (r *Record) Watch(c *aws.Config) {
	c.APIOptions = append(slices.Clip(c.APIOptions), func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("RightsRecord",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				r.answered(action(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)), err)
				return out, metadata, err
			}), middleware.After)
	})
}

// action is a call as IAM names it, which knows batches by the name of the single call.
func action(service, operation string) string {
	return strings.ReplaceAll(strings.ToLower(service), " ", "-") + ":" + strings.TrimSuffix(operation, "Batch")
}

// answered takes note of a refusal, and that an action was answered otherwise. A call without
// an answer says nothing.
func (r *Record) answered(action string, err error) {
	var fault smithy.APIError
	if err != nil && !errors.As(err, &fault) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.refused[action]
	delete(r.refused, action)
	if fault == nil {
		return
	}
	if meaning, _ := fleet.Means(fault.ErrorCode(), fault.ErrorMessage()); meaning != fleet.Unauthorized {
		return
	}
	if r.refused == nil {
		r.refused = map[string]string{}
	}
	if r.refused[action] = fleet.Plain(fault.ErrorMessage()); sort(before) == sort(r.refused[action]) {
		r.refused[action] = before
	}
}

// named is the name of a resource after its sort.
var named = regexp.MustCompile(`(arn:[^/ ]*/)[^ ]+`)

// sort is a message for any resource of the sort that it names: the next machine is refused as the
// one before it was.
func sort(message string) string { return named.ReplaceAllString(message, "$1") }

// Missing are the actions whose last answer was a refusal, each with the message, in order.
func (r *Record) Missing() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, action := range slices.Sorted(maps.Keys(r.refused)) {
		out = append(out, action+": "+r.refused[action])
	}
	return out
}
