// Package logging sets up the log of the controller: JSON lines with Karpenter's keys, without
// the progress of libraries.
package logging

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Options say what is logged and where to.
type Options struct {
	// Level is debug, info or error.
	Level string
	// Paths and ErrorPaths are comma-separated files, or stdout or stderr, for the log and for
	// errors of the log itself.
	Paths, ErrorPaths string
}

// Set sends the process's log, and that of the libraries, where the options say, as JSON
// lines. The returned function writes out what is buffered. Errors name the flag of millwright
// run that is wrong.
func Set(o Options) (flush func(), err error) {
	levels := map[string]zapcore.Level{"debug": zap.DebugLevel, "info": zap.InfoLevel, "error": zap.ErrorLevel}
	level, ok := levels[o.Level]
	if !ok {
		return nil, fmt.Errorf("--log-level: %q is not one of debug, info, error", o.Level)
	}
	cfg := zap.NewProductionConfig()
	cfg.Level = zap.NewAtomicLevelAt(level)
	cfg.EncoderConfig.TimeKey = "time"
	cfg.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	cfg.EncoderConfig.EncodeDuration = zapcore.StringDurationEncoder
	cfg.DisableStacktrace = true
	cfg.Sampling = nil // of a thousand machines, each has its lines
	cfg.OutputPaths = splitPaths(o.Paths)
	cfg.ErrorOutputPaths = splitPaths(o.ErrorPaths)
	cfg.EncoderConfig.MessageKey = "message" // as Karpenter has it
	logger, err := cfg.Build(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return ownWords{c} }))
	if err != nil {
		return nil, fmt.Errorf("--log-output-paths: %w", err)
	}
	sink := zapr.NewLogger(logger)
	log.SetLogger(sink)
	klog.SetLogger(sink)
	return func() { _ = logger.Sync() }, nil // standard output cannot be synced everywhere
}

func splitPaths(list string) []string {
	paths := strings.Split(list, ",")
	for i := range paths {
		paths[i] = strings.TrimSpace(paths[i])
	}
	return slices.DeleteFunc(paths, func(p string) bool { return p == "" })
}

// ownWords leaves the progress of libraries to debugging: the tens of info lines by which
// controller-runtime starts and stops say nothing to those who run Millwright.
type ownWords struct{ zapcore.Core }

func (o ownWords) With(fields []zapcore.Field) zapcore.Core { return ownWords{o.Core.With(fields)} }

func (o ownWords) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if o.Enabled(e.Level) {
		return c.AddCore(e, o)
	}
	return c
}

func (o ownWords) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if e.Level == zapcore.InfoLevel && !o.Enabled(zapcore.DebugLevel) && ofLibrary(e.Caller.File) {
		return nil
	}
	return o.Core.Write(e, fields)
}

func ofLibrary(file string) bool {
	return strings.Contains(file, "/controller-runtime@") || strings.Contains(file, "/client-go@") || strings.Contains(file, "/controller-runtime/pkg/")
}
