// Package kwok is a cloud of simulated machines. Its machines are Node objects
// on any cluster where something plays the kubelet: this project's sandbox, or
// upstream KWOK (the nodes carry its label and annotation). Placement, launch,
// registration and removal are real; only the machines are not.
//
//	p := kwok.New(kwok.Config{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Types: types})
//	mgr.Add(p) // plays the machines' lives
//
// # Machines
//
// Every machine is a record, one ConfigMap kwok-machine-<token> in kube-system,
// and everything follows from the records: the token of a launch
// leads to its machine, and after a crash the next process goes on where the last
// one stopped. A machine is pending, then running, and some time later its Node
// appears, under the claim's name, with provider ID kwok://<name> and the taint
// karpenter.sh/unregistered. The Node is created once and is not touched again
// while the machine runs, so what others do to it stays. Terminate makes the
// machine shutting-down and then gone. [Provider.Step] does all of this from the
// records and the clock; [Provider.Start] calls it when something is due.
//
// The package also plays the cloud controller manager: the Node of a machine
// that is gone is deleted once it is not Ready, or after a while. While a machine
// shuts down and when it dies, the annotation sandbox.millwright.dev/kubelet:
// silent stops the sandbox's kubelet; upstream KWOK does not know it. A Node
// with the annotation millwright.dev/machine whose record is missing counts as
// dead. A Node that Karpenter's KWOK provider has made is a machine without a record,
// which is there as long as its Node; no knob concerns it. Other Nodes are left alone.
//
// Node classes are KWOKNodeClass objects; their nodeRegistrationDelay counts.
//
// # Volumes
//
// The sandbox's storage driver writes down what it has attached to a machine, in
// the ConfigMap kwok-machine-<token>-volumes, apart from what Kubernetes knows:
// [Provider.Attachments] reads it. Kubernetes deletes it together with the record.
//
// # Faults
//
// The ConfigMap millwright-kwok steers delays, sold-out offerings, lost replies,
// throttling, eventual consistency, the death of machines and announcements of
// interruptions while the cloud runs: see [Knobs].
//
// # Catalogues
//
// [EC2Catalogue] has some 1,300 EC2 types with true figures and
// on-demand prices, and synthetic spot prices; [KWOKCatalogue] KWOK's 144
// made-up types; [ReadCatalogue] and [WriteCatalogue] speak the format of KWOK's
// instance-types.json. What is known of EC2's types comes from package cloud/ec2.
package kwok
