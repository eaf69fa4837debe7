package account

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	ec2v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/requirement"
)

// Reservation is an open capacity reservation of EC2 that is active.
type Reservation struct {
	ID, Type, Zone string
	// Free is how many of its Total places no instance takes.
	Free, Total int
	Tags        map[string]string
}

// ReservationsThatAreUnused have places left for what pools launch, of classes whose machines are
// kept out of them. What a class selects is used.
func ReservationsThatAreUnused(a *Account, classes []*awsv1.EC2NodeClass, pools []*karpv1.NodePool) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		var free []string
		for _, r := range a.Reservations {
			selected := slices.ContainsFunc(classes, func(c *awsv1.EC2NodeClass) bool { return r.selected(c) })
			if r.Free > 0 && !selected && slices.ContainsFunc(pools, func(np *karpv1.NodePool) bool { return usesClass(np, c) && r.suits(np) }) {
				free = append(free, fmt.Sprintf("%s (%s in %s, %d of %d free)", r.ID, r.Type, r.Zone, r.Free, r.Total))
			}
		}
		if len(free) == 0 || c.Annotations[awsv1.OpenReservations] == "true" {
			continue
		}
		f := finding.Finding{
			Severity: finding.Warning, Object: classRef(c), Field: "spec.capacityReservationSelectorTerms",
			Message: fmt.Sprintf("do not select %s, and on-demand machines of the class stay out of open reservations: both are paid for", strings.Join(free, ", ")),
			Advice:  "let on-demand machines run in open reservations, which Millwright does for this annotation; or select the reservations, and allow the pools the capacity type reserved",
			Patch:   &finding.Patch{Object: classRef(c)},
		}
		if c.Annotations == nil {
			f.Patch.Steps = []finding.Step{finding.Op("add", "/metadata/annotations", map[string]any{awsv1.OpenReservations: "true"})}
		} else {
			f.Patch.Steps = []finding.Step{finding.Op("add", finding.Pointer("metadata", "annotations", awsv1.OpenReservations), "true")}
		}
		out = append(out, f)
	}
	return out
}

// selected reports whether a class draws on the reservation.
func (r *Reservation) selected(c *awsv1.EC2NodeClass) bool {
	return slices.ContainsFunc(c.Spec.CapacityReservationSelectorTerms, func(t ec2v1.CapacityReservationSelectorTerm) bool {
		return (t.ID == "" || t.ID == r.ID) && tagged(r.Tags, t.Tags)
	})
}

func usesClass(np *karpv1.NodePool, c *awsv1.EC2NodeClass) bool {
	ref := np.Spec.Template.Spec.NodeClassRef
	return ref != nil && ref.Kind == "EC2NodeClass" && ref.Name == c.Name
}

// named are category, generation and variant of a family of instance types, and the size.
var named = regexp.MustCompile(`^([a-z]+)([0-9]+)([^.]*)\.(.+)$`)

// suits reports whether the pool may launch on-demand machines of the reservation's type, by what
// the type's name says; of other labels nothing is known.
func (r *Reservation) suits(np *karpv1.NodePool) bool {
	name := named.FindStringSubmatch(r.Type)
	if name == nil {
		return false
	}
	arch := karpv1.ArchitectureAmd64
	if strings.Contains(name[3], "g") || name[1] == "a" {
		arch = karpv1.ArchitectureArm64
	}
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: r.Type, corev1.LabelTopologyZone: r.Zone, corev1.LabelArchStable: arch,
		corev1.LabelOSStable: string(corev1.Linux), karpv1.CapacityTypeLabelKey: karpv1.CapacityTypeOnDemand,
		ec2v1.LabelInstanceCategory: name[1], ec2v1.LabelInstanceGeneration: name[2],
		ec2v1.LabelInstanceFamily: name[1] + name[2] + name[3], ec2v1.LabelInstanceSize: name[4],
	}
	return !slices.ContainsFunc(np.Spec.Template.Spec.Requirements, func(want karpv1.NodeSelectorRequirementWithMinValues) bool {
		label, known := labels[want.Key]
		is, err := requirement.New(want.Key, requirement.Operator(want.Operator), want.Values...)
		return !known || err != nil || !is.Has(label)
	})
}
