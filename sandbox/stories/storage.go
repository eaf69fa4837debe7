package stories

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var storage = Story{
	Name:   "storage",
	Title:  "agents of EBS CSI and Cilium are evicted before volumes are released",
	scene:  "Two nodes without Millwright, the agents of EBS CSI and Cilium with tolerations of their own, and a database with a volume.",
	checks: []string{"agent-leaves-early"},
	begin: func(st *stage) error {
		if err := st.eventually("the agents run on both nodes", st.agents(2)); err != nil {
			return err
		}
		return st.eventually("the database runs", st.running("default", "app=db", 1))
	},
	fail: loseTheVolume,
	hold: func(st *stage) error {
		// The patched DaemonSets are rolled out first.
		if err := st.eventually("the agents tolerate the taint", func() error { return errors.Join(st.agents(2)(), st.tolerating()) }); err != nil {
			return err
		}
		node, err := st.nodeOfDatabase()
		if err != nil {
			return err
		}
		st.say("        node %s goes, in the same way", node)
		if err := st.mark(node, true); err != nil {
			return err
		}
		if err := st.evictByTolerations(node); err != nil {
			return err
		}
		if err := st.eventually("the database runs on the other node", st.databaseLeft(node)); err != nil {
			return err
		}
		return st.throughout("the agents have stayed on both nodes", agentsStay, st.agents(2))
	},
}

// agents finds fault unless so many pods of each agent are ready.
func (st *stage) agents(n int) func() error {
	return func() error {
		return errors.Join(st.running("kube-system", "app=ebs-csi-node", n)(), st.running("kube-system", "k8s-app=cilium", n)())
	}
}

// tolerating finds fault while an agent's pod is of before the fix.
func (st *stage) tolerating() error {
	pods, err := st.pods("kube-system", "")
	if err != nil {
		return err
	}
	for i := range pods {
		if wave(&pods[i])%2 == 1 && !tolerates(&pods[i]) {
			return fmt.Errorf("pod %s does not tolerate %s", pods[i].Name, disrupted.Key)
		}
	}
	return nil
}

func (st *stage) nodeOfDatabase() (string, error) {
	pods, err := st.pods("default", "app=db")
	if err == nil && len(pods) != 1 {
		err = fmt.Errorf("%d pods of the database", len(pods))
	}
	if err != nil {
		return "", err
	}
	return pods[0].Spec.NodeName, nil
}

// databaseLeft finds fault unless the database is ready on another node.
func (st *stage) databaseLeft(node string) func() error {
	return func() error {
		now, err := st.nodeOfDatabase()
		if err != nil {
			return err
		}
		if now == node {
			return fmt.Errorf("the database is on %s", now)
		}
		return st.running("default", "app=db", 1)()
	}
}

// loseTheVolume drains the database's node by tolerations.
func loseTheVolume(st *stage) error {
	node, err := st.nodeOfDatabase()
	if err != nil {
		return err
	}
	st.say("        node %s goes: it is tainted with %s, and what does not tolerate that is evicted in Karpenter's order", node, disrupted.Key)
	if err := st.mark(node, true); err != nil {
		return err
	}
	if err := st.evictByTolerations(node); err != nil {
		return err
	}
	if err := st.throughout("the database's pod hangs: nothing unmounts its volume", hangs, st.terminating); err != nil {
		return err
	}
	st.command("kubectl delete pod db-0 --force")
	if err := st.client.CoreV1().Pods("default").Delete(st.ctx, "db-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		return err
	}
	if err := st.told("default", "FailedAttachVolume", "Multi-Attach error"); err != nil {
		return err
	}
	err = st.throughout("the database is down; Kubernetes would wait for six minutes", hangs, func() error {
		if st.running("default", "app=db", 1)() == nil {
			return errors.New("the database runs")
		}
		return nil
	})
	if err != nil {
		return err
	}
	st.say("        node %s stays after all, so that its agents come back", node)
	if err := st.mark(node, false); err != nil {
		return err
	}
	if err := st.eventually("the agents run on both nodes", st.agents(2)); err != nil {
		return err
	}
	return st.eventually("the database runs", st.running("default", "app=db", 1))
}

func (st *stage) terminating() error {
	pods, err := st.pods("default", "app=db")
	if err != nil {
		return err
	}
	if len(pods) != 1 || pods[0].DeletionTimestamp == nil {
		return fmt.Errorf("of the database there are %d pods, and none that is to go", len(pods))
	}
	return nil
}
