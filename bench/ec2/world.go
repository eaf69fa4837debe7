package ec2

import (
	"context"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
)

// world is what a comparison is played on, and what it is made of.
type world struct {
	*stage.World
	cfg Config
}

func newWorld(ctx context.Context, cfg Config, name string, args ...string) (*world, error) {
	w, err := stage.New(ctx, cfg.Stage, name, args...)
	if err != nil {
		return nil, err
	}
	return &world{w, cfg}, nil
}
