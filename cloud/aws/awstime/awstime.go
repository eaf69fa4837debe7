// Package awstime tells what time it is for AWS.
//
// Messages and failed checks are dated by AWS's clocks. By one of ours that is minutes off,
// fresh messages would be stale, and a check that has just failed would have failed for long.
package awstime

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	smithy "github.com/aws/smithy-go/middleware"
)

// Of is when a call was answered, by the clock of the service; by ours if the answer has no date.
func Of(answer smithy.Metadata) time.Time {
	if theirs, told := middleware.GetServerTime(answer); told {
		return theirs
	}
	return time.Now()
}
