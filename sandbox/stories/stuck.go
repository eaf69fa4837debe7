package stories

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var stuck = Story{
	Name:   "stuck",
	Title:  "nodes that do not go",
	scene:  "Three teams with a NodePool and two pods each. The PodDisruptionBudget of web wants both of its pods, api has two of them, and the NodePool of batch a budget of 0 nodes.",
	checks: []string{"budget-never-opens", "pdb-allows-none", "pdbs-overlap"},
	begin: func(st *stage) error {
		return st.eventually("two pods of each team run", st.teamsRun)
	},
	fail: func(st *stage) error {
		for _, team := range teams {
			claim, err := st.claimOf(team)
			if err != nil {
				return err
			}
			st.old = append(st.old, claim)
			if team == drifting {
				st.command(`kubectl patch nodepool ` + team + ` --type=merge -p '{"spec":{"template":{"metadata":{"labels":{"generation":"second"}}}}}'`)
				_, err = st.dynamic.Resource(resources["NodePool"]).Patch(st.ctx, team, types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"labels":{"generation":"second"}}}}}`), metav1.PatchOptions{})
			} else {
				st.command("kubectl delete nodeclaim " + claim + " --wait=false")
				err = st.dynamic.Resource(nodeClaims).Delete(st.ctx, claim, metav1.DeleteOptions{})
			}
			if err != nil {
				return err
			}
		}
		drifted := func() error {
			claim, err := st.dynamic.Resource(nodeClaims).Get(st.ctx, st.old[len(st.old)-1], metav1.GetOptions{})
			if err == nil && !says(claim, "Drifted", "") {
				err = errors.New("it has not drifted")
			}
			return err
		}
		if err := st.eventually("the third is known to have drifted", drifted); err != nil {
			return err
		}
		if err := st.throughout("all three nodes stay, and would for ever", hangs, st.allThere); err != nil {
			return err
		}
		for _, name := range st.old {
			if err := st.show("why", "node/"+name); err != nil {
				return err
			}
		}
		return nil
	},
	hold: func(st *stage) error {
		if err := st.eventually("all three nodes are gone", st.noneThere); err != nil {
			return err
		}
		return st.eventually("two pods of each team run, on others", st.teamsRun)
	},
}

// teams have a pool, a Deployment and a node each; the last one's drifts.
var teams = []string{"web", "api", drifting}

const drifting = "batch"

func (st *stage) teamsRun() error {
	var err error
	for _, team := range teams {
		err = errors.Join(err, st.running("default", "app="+team, 2)())
	}
	return err
}

func (st *stage) allThere() error {
	for _, name := range st.old {
		if _, err := st.client.CoreV1().Nodes().Get(st.ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (st *stage) noneThere() error {
	for _, name := range st.old {
		_, err := st.client.CoreV1().Nodes().Get(st.ctx, name, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("node %s is still there", name)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
