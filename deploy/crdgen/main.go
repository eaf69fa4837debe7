// Command crdgen writes the CustomResourceDefinitions of the published API
// packages into a directory, with what later releases have added, and removes others from it,
// all but Millwright's own, which controller-gen makes of the types in api/.
//
//	go run ./deploy/crdgen deploy/crds
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	awsapis "github.com/aws/karpenter-provider-aws/pkg/apis"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	karpenterapis "sigs.k8s.io/karpenter/pkg/apis"

	"github.com/millwright-dev/millwright/api/v1alpha1"
)

// definitions are by file name, which is group_plural as controller-gen has it.
// The AWS provider publishes variants of Karpenter's own kinds that refuse more
// labels; those of Karpenter are used, so that any cloud's labels pass.
var definitions = map[string][]byte{
	"karpenter.sh_nodepools.yaml":               karpenterapis.NodePoolCRD,
	"karpenter.sh_nodeclaims.yaml":              karpenterapis.NodeClaimCRD,
	"karpenter.sh_nodeoverlays.yaml":            karpenterapis.NodeOverlayCRD,
	"autoscaling.x-k8s.io_capacitybuffers.yaml": karpenterapis.CapacityBufferCRD,
	"karpenter.kwok.sh_kwoknodeclasses.yaml":    kwokapis.KWOKNodeClassCRD,
	"karpenter.k8s.aws_ec2nodeclasses.yaml":     awsapis.EC2NodeClassCRD,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crdgen DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

// own reports whether a file defines one of Millwright's own kinds.
func own(file string) bool { return strings.HasPrefix(file, v1alpha1.Group+"_") }

func write(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, keep := definitions[filepath.Base(name)]; keep || own(filepath.Base(name)) {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for name, published := range definitions {
		text, err := amended(name, published)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
