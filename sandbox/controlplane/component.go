package controlplane

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// errEnded is the cause when a component returns without being told to.
var errEnded = errors.New("ended unexpectedly")

// component is one part of the control plane that runs until it is halted.
type component struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of the part itself; read it after done is closed
}

// launch runs fn in the background. The context fn gets ends with halt only.
func launch(name string, fn func(context.Context) error) *component {
	ctx, cancel := context.WithCancel(context.Background())
	c := &component{name: name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = fn(ctx)
		if c.err == nil {
			c.err = errEnded
		}
	}()
	return c
}

// halt tells the component to end and waits until it has.
func (c *component) halt() {
	c.cancel()
	<-c.done
}

// failure is why the component ended; only meaningful after done.
func (c *component) failure() error {
	return fmt.Errorf("%s: %w", c.name, c.err)
}

// parse applies command-line flags to the named flag sets of a component, the
// way its own command would.
func parse(sets cliflag.NamedFlagSets, flags []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		all.AddFlagSet(set)
	}
	return all.Parse(flags)
}
