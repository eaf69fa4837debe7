package network

import (
	"slices"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

// A zone is full if none of a class's subnets there has addresses left, as EC2 said last. It is on
// the class while there is one: in an annotation, for those who do not ask EC2, and in a condition
// with a reason, for people.
const (
	FullAnnotation = "millwright.dev/full-zones"
	Condition      = "millwright.dev/AddressesFree"
	NoAddresses    = "NoFreeAddresses"
)

// Lacks is what machines in a full zone lack, as in [catalog.Offering].
func Lacks(zone string) string { return "free addresses in the subnets of " + zone }

// Full lists the full zones of some subnets, in order; none tells of a subnet, by its ID, whether
// it has no addresses left.
func Full(subnets []ec2class.Subnet, none func(id string) bool) []string {
	var out []string
	for _, s := range subnets {
		free := slices.ContainsFunc(subnets, func(other ec2class.Subnet) bool { return other.Zone == s.Zone && !none(other.ID) })
		if !free && !slices.Contains(out, s.Zone) {
			out = append(out, s.Zone)
		}
	}
	slices.Sort(out)
	return out
}

// Mark writes the full zones of a class's subnets into its annotation.
func (a *Addresses) Mark(class *ec2class.EC2NodeClass) {
	full := Full(class.Status.Subnets, a.None)
	if len(full) == 0 {
		delete(class.Annotations, FullAnnotation)
		return
	}
	if class.Annotations == nil {
		class.Annotations = map[string]string{}
	}
	class.Annotations[FullAnnotation] = strings.Join(full, ",")
}

// Marked reads it.
func Marked(annotations map[string]string) []string {
	return strings.FieldsFunc(annotations[FullAnnotation], func(r rune) bool { return r == ',' })
}
