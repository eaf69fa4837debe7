package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
)

// asksMetadata are, of controllers that ask an instance's metadata service as they start, the
// arguments that make it needless, by image.
var asksMetadata = map[string][]string{"aws-load-balancer-controller": {"--aws-vpc-id", "--aws-vpc-tags"}}

// metadataOutOfReach are pods that ask the metadata service from the pods' network, where they
// may run on nodes whose answers go one hop only.
func metadataOutOfReach(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		spec := &w.Template.Spec
		i := slices.IndexFunc(spec.Containers, asks)
		if spec.HostNetwork || i < 0 {
			continue
		}
		for _, np := range in.Pools {
			c := in.classOf(np)
			if c == nil || hops(c) > 1 || !in.admits(w.class, np) {
				continue
			}
			out = append(out, Finding{
				Severity: Warning, Object: w.Ref, Field: fmt.Sprintf("spec.template.spec.containers[%d].args", i),
				Message: fmt.Sprintf("lack %s, so that it asks the metadata service, and of ec2nodeclass/%s answers reach only the host's network: on a node of nodepool/%s it does not start", asksMetadata[imageName(spec.Containers[i].Image)][0], c.Name, np.Name),
				Advice:  "say what it asks for (vpcId and region of its chart); the fix gives it the host's network",
				Patch:   &Patch{Object: w.Ref, Steps: []Step{step("add", "/spec/template/spec/hostNetwork", true)}},
			})
			break
		}
	}
	return out
}

// asks reports whether a container asks the metadata service.
func asks(c corev1.Container) bool {
	spared := asksMetadata[imageName(c.Image)]
	return spared != nil && !slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains(spared, name)
	})
}

// classOf is the EC2NodeClass of a pool; nil if it is not known.
func (in *Inventory) classOf(np *karpv1.NodePool) *awsv1.EC2NodeClass {
	ref := np.Spec.Template.Spec.NodeClassRef
	i := slices.IndexFunc(in.Classes, func(c *awsv1.EC2NodeClass) bool {
		return ref != nil && ref.Kind == "EC2NodeClass" && ref.Name == c.Name
	})
	if i < 0 {
		return nil
	}
	return in.Classes[i]
}

// hops is how far answers of the metadata service go: 0 if it is off, 1 by default.
func hops(c *awsv1.EC2NodeClass) int64 {
	m := c.Spec.MetadataOptions
	switch {
	case m == nil:
		return 1
	case m.HTTPEndpoint != nil && *m.HTTPEndpoint == "disabled":
		return 0
	case m.HTTPPutResponseHopLimit == nil:
		return 1
	}
	return *m.HTTPPutResponseHopLimit
}
