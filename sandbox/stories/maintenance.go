package stories

import (
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var maintenance = Story{
	Name:   "maintenance",
	Title:  "a host is to be maintained in two weeks, under a database",
	scene:  "A NodePool for Kafka without a NodePolicy, and two brokers with a volume each.",
	checks: []string{"maintenance-at-once"},
	begin: func(st *stage) error {
		return st.eventually("the brokers run", st.running("default", "app=kafka", brokers))
	},
	fail: func(st *stage) error {
		before, err := st.brokers()
		if err != nil {
			return err
		}
		if err := st.announce(before["kafka-0"].node); err != nil {
			return err
		}
		err = st.eventually("the broker on it has been moved, two weeks before the cloud does anything", func() error {
			now, err := st.brokers()
			if err == nil && now["kafka-0"].uid == before["kafka-0"].uid {
				err = errors.New("it is still there")
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := st.announce(""); err != nil {
			return err
		}
		return st.eventually("the brokers run again", st.running("default", "app=kafka", brokers))
	},
	hold: func(st *stage) error {
		before, err := st.brokers()
		if err != nil {
			return err
		}
		node := before["kafka-1"].node
		if err := st.announce(node); err != nil {
			return err
		}
		err = st.eventually("the machine says what will be done, and when", func() error {
			claim, err := st.dynamic.Resource(nodeClaims).Get(st.ctx, node, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if says(claim, "Interrupted", "") {
				return nil
			}
			return errors.New("it has no condition Interrupted")
		})
		if err != nil {
			return err
		}
		if err := st.show("events"); err != nil {
			return err
		}
		return st.throughout("both brokers have stayed where they were", agentsStay, func() error {
			now, err := st.brokers()
			if err == nil && !maps.Equal(now, before) {
				err = fmt.Errorf("they were %v and are %v", before, now)
			}
			return errors.Join(err, st.running("default", "app=kafka", brokers)())
		})
	},
}

const brokers = 2

// broker is which pod it is, and where.
type broker struct{ uid, node string }

func (st *stage) brokers() (map[string]broker, error) {
	pods, err := st.pods("default", "app=kafka")
	if err != nil {
		return nil, err
	}
	out := map[string]broker{}
	for _, p := range pods {
		out[p.Name] = broker{string(p.UID), p.Spec.NodeName}
	}
	return out, nil
}

// announce has the simulated cloud say that it will stop a machine in two weeks; nothing more is
// announced if there is none.
func (st *stage) announce(machine string) error {
	events := "[]"
	if machine != "" {
		at := time.Now().Add(14 * 24 * time.Hour).UTC().Format(time.RFC3339)
		events = fmt.Sprintf(`[{"id": "stop-%s", "kind": "Maintenance", "code": "Stop", "machine": %q, "notBefore": %q}]`, machine, machine, at)
		st.say("        the cloud announces that it will stop %s at %s", machine, at)
	}
	return st.apply.Text(st.ctx, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: millwright-kwok, namespace: kube-system}\ndata: {interruptions: %q}\n", events))
}
