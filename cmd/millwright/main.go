// Command millwright manages the machines of a Kubernetes cluster. See
// "millwright --help".
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // windows name time zones, and an image from scratch has none

	_ "golang.org/x/crypto/x509roots/fallback" // nor has it root certificates; a system's own go first
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)           // a second signal ends what does not heed the first
	slog.SetLogLoggerLevel(slog.LevelWarn) // Helm's library tells of every link in a chart
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := cli.Main(ctx, streams, os.Args[1:])
	stop()
	os.Exit(code)
}
