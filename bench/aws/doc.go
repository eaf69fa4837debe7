// Package aws pins Karpenter's own controller for AWS, to be run unmodified on the emulated one.
// `make bench-aws` builds it, plays it beside Millwright and writes bench/AWS.md (package ec2 of
// the module above). By hand:
//
//	go -C bench/aws build -o ../../bin/karpenter-aws github.com/aws/karpenter-provider-aws/cmd/controller
//	bin/sandbox up --cloud aws
//
// It takes the variables that sandbox up prints, and further INTERRUPTION_QUEUE=demo (a name, not
// a URL), SYSTEM_NAMESPACE=kube-system and DISABLE_LEADER_ELECTION=true; its CRDs are in the
// module's pkg/apis/crds.
//
// It is a module of its own because its versions of Kubernetes' libraries are older than the
// project's. The commit of sigs.k8s.io/karpenter that it names is not published as a module
// version; the release of the same number takes its place.
package aws
