package stories

import "errors"

var addons = Story{
	Name:   "addons",
	Title:  "a node group that Terraform taints keeps CoreDNS and the CSI controller out",
	scene:  "Two nodes of the node group system, which Terraform taints with dedicated=system:NoSchedule, and two replicas each of CoreDNS and the CSI controller, which do not tolerate that.",
	checks: []string{"nowhere-to-run"},
	given:  []string{"--terraform", "sandbox/stories/testdata/addons.plan.json"},
	fail: func(st *stage) error {
		if err := st.told("kube-system", "FailedScheduling", "untolerated taint"); err != nil {
			return err
		}
		return st.throughout("DNS and volumes are nowhere, so nothing else can begin", hangs, func() error {
			if st.addonsRun() == nil {
				return errors.New("the add-ons run")
			}
			return nil
		})
	},
	hold: func(st *stage) error {
		return st.eventually("CoreDNS and the CSI controller run on the tainted nodes", st.addonsRun)
	},
}

func (st *stage) addonsRun() error {
	return errors.Join(st.running("kube-system", "k8s-app=kube-dns", 2)(), st.running("kube-system", "app=ebs-csi-controller", 2)())
}
