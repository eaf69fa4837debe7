package stories

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

var startup = Story{
	Name:   "startup",
	Title:  "pods race the storage driver to a node that is not initialized",
	scene:  "A NodePool for databases whose nodes take three volumes each, as the EBS CSI driver says six seconds after a node is ready. The pool declares no startup taint.",
	checks: []string{"startup-taint-missing"},
	fail: func(st *stage) error {
		if err := st.databases(); err != nil {
			return err
		}
		if err := st.told("default", "FailedAttachVolume", "AttachmentLimitExceeded"); err != nil {
			return err
		}
		if err := st.eventually("three of the five databases run", st.ready(3)); err != nil {
			return err
		}
		if err := st.throughout("two wait for a volume that does not fit: they were bound before the driver said how many do", hangs, st.ready(3)); err != nil {
			return err
		}
		return st.clear()
	},
	hold: func(st *stage) error {
		if err := st.databases(); err != nil {
			return err
		}
		if err := st.eventually("all five databases run", st.ready(5)); err != nil {
			return err
		}
		return st.throughout("they stay", agentsStay, st.ready(5))
	},
}

func (st *stage) databases() error {
	text, err := testdata.ReadFile("testdata/startup.pods.yaml")
	if err != nil {
		return err
	}
	st.say("        five databases are created, each with a volume; a node of the pool takes three volumes")
	return st.apply.Text(st.ctx, string(text))
}

// ready finds fault unless so many of the databases run.
func (st *stage) ready(n int) func() error {
	return func() error {
		pods, err := st.pods("default", "app=db")
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods {
			if harness.Running(&pods[i]) {
				ready++
			}
		}
		if ready != n {
			return fmt.Errorf("%d of %d databases run", ready, len(pods))
		}
		return nil
	}
}

// clear takes databases and machines away, in this order: pods that are left on a machine that goes
// would get another one.
func (st *stage) clear() error {
	if err := st.client.AppsV1().StatefulSets("default").Delete(st.ctx, "db", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := st.eventually("the databases have been taken away", func() error {
		pods, err := st.pods("default", "app=db")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d are left", len(pods))
		}
		return err
	}); err != nil {
		return err
	}
	if err := st.dynamic.Resource(nodeClaims).DeleteCollection(st.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return st.eventually("the nodes have been taken away", func() error {
		claims, err := st.dynamic.Resource(nodeClaims).List(st.ctx, metav1.ListOptions{})
		if err == nil && len(claims.Items) > 0 {
			err = fmt.Errorf("%d are left", len(claims.Items))
		}
		return err
	})
}
