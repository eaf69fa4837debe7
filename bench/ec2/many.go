package ec2

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// manyPools are a class and a pool of machines of four vCPUs, in an AWS with the token buckets
// that EC2 documents.
func manyPools(ctx context.Context, w *world, _ []string) error {
	pool := stage.FleetPool(stage.OnDemandPool, "web", "on-demand", "WhenEmpty")
	return errors.Join(w.Apply.Text(ctx, stage.FleetClasses+"---"+pool), w.AWS.SetThrottle(ctx, aws.Throttle{Documented: true}))
}

// manyPods are as many pods as machines are wanted: each takes more than half of one.
func manyPods(ctx context.Context, w *world) error {
	return w.Apply.Text(ctx, stage.Workload("Deployment", stage.OnDemandPool, w.cfg.Machines, "", ""))
}

// halfSold sells out every second of the types that the pool allows, the cheapest first.
func halfSold(ctx context.Context, w *world, chosen []string) error {
	types, err := ec2.Types()
	if err != nil {
		return err
	}
	types = slices.DeleteFunc(slices.Clone(types), func(t ec2.Type) bool {
		return t.VCPUs != 4 || t.Name[0] != 'c' && t.Name[0] != 'm' && t.Name[0] != 'r'
	})
	slices.SortFunc(types, func(a, b ec2.Type) int {
		return cmp.Or(cmp.Compare(a.OnDemand, b.OnDemand), cmp.Compare(a.Name, b.Name))
	})
	for i := 0; i < len(types); i += 2 {
		if err := w.AWS.SetCapacity(ctx, aws.Capacity{Pattern: types[i].Name, Most: 0}); err != nil {
			return err
		}
	}
	return manyPools(ctx, w, chosen)
}
