package controllers

import (
	"context"

	"github.com/go-logr/logr"
)

// quietAtTheEnd is a log to which no error is one any more once the context has
// ended: what is torn down complains, the lost lease first of all, and a user
// who has asked for the end should not be alarmed by it. The errors remain, at debug
// level.
func quietAtTheEnd(ctx context.Context, log logr.Logger) logr.Logger {
	return log.WithSink(quiet{log.GetSink(), ctx})
}

type quiet struct {
	logr.LogSink
	ctx context.Context
}

func (q quiet) Error(err error, message string, values ...any) {
	switch {
	case q.ctx.Err() == nil:
		q.LogSink.Error(err, message, values...)
	case q.Enabled(1):
		q.Info(1, message, append(values, "error", err)...)
	}
}

func (q quiet) WithValues(values ...any) logr.LogSink {
	return quiet{q.LogSink.WithValues(values...), q.ctx}
}

func (q quiet) WithName(name string) logr.LogSink { return quiet{q.LogSink.WithName(name), q.ctx} }
