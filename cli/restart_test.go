package cli

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/controllers/provision"
	"github.com/millwright-dev/millwright/engine/placement"
)

// A controller that was killed knows of its plan what is written on the claims.
func TestMachinesOnTheirWayAreEnoughForTheirPodsAfterARestart(t *testing.T) {
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	kinds, err := instanceTypes("ec2")
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"pools", "aws"} {
		o := planOptions{}
		o.files, o.recursive = []string{"../examples/" + class, "../examples/workloads"}, true
		store, objects, err := o.read(console{IOStreams: streams})
		if err != nil {
			t.Fatal(err)
		}
		known, err := classes.New(kinds, instancetype.DefaultSettings(), bare(objects))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		before := placement.Solve(store.Snapshot(now, known.Of), placement.Options{})
		pools := map[string]*karpv1.NodePool{}
		for _, o := range bare(objects) {
			if pool, ok := o.(*karpv1.NodePool); ok {
				pools[pool.Name] = pool
			}
		}
		for i := range before.NewNodes {
			claim := provision.Claim(pools[before.NewNodes[i].Pool], &before.NewNodes[i])
			claim.Name = fmt.Sprint(claim.GenerateName, i)
			claim.UID, claim.CreationTimestamp = types.UID(claim.Name), metav1.NewTime(now)
			store.Update(claim)
		}
		after := placement.Solve(store.Snapshot(now, known.Of), placement.Options{})
		if len(before.NewNodes) == 0 || len(after.NewNodes) > 0 || len(after.Placements) != before.Stats.Pods {
			t.Errorf("examples/%s: %d machines for %d pods; after a restart %d have a place, for the others come %d machines more",
				class, len(before.NewNodes), before.Stats.Pods, len(after.Placements), len(after.NewNodes))
		}
	}
}
