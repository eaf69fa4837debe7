package drift_test

import (
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/drift"
)

var hash, version = ec2class.AnnotationEC2NodeClassHash, ec2class.AnnotationEC2NodeClassHashVersion

func view() drift.View {
	class := &awsv1.EC2NodeClass{}
	class.Annotations = map[string]string{hash: "1", version: "v5"}
	class.Status.Subnets = []ec2class.Subnet{{ID: "subnet-a"}, {ID: "subnet-b"}}
	class.Status.SecurityGroups = []ec2class.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}
	class.Status.CapacityReservations = []ec2class.CapacityReservation{{ID: "cr-1"}}
	for _, c := range []string{
		ec2class.ConditionTypeSubnetsReady, ec2class.ConditionTypeSecurityGroupsReady, ec2class.ConditionTypeAMIsReady,
		ec2class.ConditionTypeCapacityReservationsReady, ec2class.ConditionTypePlacementGroupReady,
	} {
		class.Status.Conditions = append(class.Status.Conditions, status.Condition{Type: c, Status: metav1.ConditionTrue})
	}
	return drift.View{
		Class: class, Claim: map[string]string{hash: "1", version: "v5"}, Image: "ami-1", Group: "pg-1",
		Machine: &api.Instance{Image: "ami-1", Subnet: "subnet-b", SecurityGroups: []string{"sg-1", "sg-2"}, Reservation: "cr-1", Group: "pg-1"},
	}
}

// unknown makes a part of the status one that was not worked out for the spec.
func unknown(v *drift.View, condition string) {
	for i := range v.Class.Status.Conditions {
		if v.Class.Status.Conditions[i].Type == condition {
			v.Class.Status.Conditions[i].Status = metav1.ConditionFalse
		}
	}
}

func TestAMachineDriftsWhenItsClassAsksForAnother(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*drift.View)
		want   string
	}{
		"nothing has changed": {func(*drift.View) {}, ""},

		"another spec":                  {func(v *drift.View) { v.Class.Annotations[hash] = "2" }, drift.NodeClass},
		"a spec hashed in another way":  {func(v *drift.View) { v.Class.Annotations[hash], v.Class.Annotations[version] = "2", "v6" }, ""},
		"a claim of an earlier version": {func(v *drift.View) { v.Claim[hash], v.Claim[version] = "2", "v4" }, ""},
		"a claim without a hash":        {func(v *drift.View) { delete(v.Claim, hash) }, ""},
		"a claim without a version":     {func(v *drift.View) { v.Claim[hash] = "2"; delete(v.Claim, version) }, ""},
		"neither has a version": {func(v *drift.View) {
			v.Claim[hash] = "2"
			delete(v.Claim, version)
			delete(v.Class.Annotations, version)
		}, ""},
		"a machine whose claim is unknown": {func(v *drift.View) { v.Claim = nil }, ""},

		"another image":                     {func(v *drift.View) { v.Image = "ami-2" }, drift.AMI},
		"no image for the type":             {func(v *drift.View) { v.Image = "" }, ""},
		"images that are not worked out":    {func(v *drift.View) { v.Image = "ami-2"; unknown(v, ec2class.ConditionTypeAMIsReady) }, ""},
		"a machine whose image is not told": {func(v *drift.View) { v.Machine.Image = "" }, ""},

		"one group more":                 {func(v *drift.View) { v.Machine.SecurityGroups = append(v.Machine.SecurityGroups, "sg-3") }, drift.SecurityGroup},
		"one group less":                 {func(v *drift.View) { v.Machine.SecurityGroups = v.Machine.SecurityGroups[:1] }, drift.SecurityGroup},
		"groups in another order":        {func(v *drift.View) { v.Machine.SecurityGroups = []string{"sg-2", "sg-1", "sg-1"} }, ""},
		"no groups known of the class":   {func(v *drift.View) { v.Class.Status.SecurityGroups = nil }, ""},
		"no groups known of the machine": {func(v *drift.View) { v.Machine.SecurityGroups = nil }, ""},
		"groups that are not worked out": {func(v *drift.View) {
			v.Machine.SecurityGroups = nil
			unknown(v, ec2class.ConditionTypeSecurityGroupsReady)
		}, ""},
		"another subnet":                  {func(v *drift.View) { v.Machine.Subnet = "subnet-c" }, drift.Subnet},
		"no subnets known":                {func(v *drift.View) { v.Class.Status.Subnets = nil }, ""},
		"subnets that are not worked out": {func(v *drift.View) { v.Machine.Subnet = "subnet-c"; unknown(v, ec2class.ConditionTypeSubnetsReady) }, ""},

		"a reservation that is not selected any more": {func(v *drift.View) { v.Class.Status.CapacityReservations = nil }, drift.CapacityReservation},
		"a machine that fell back to on-demand":       {func(v *drift.View) { v.Class.Status.CapacityReservations, v.Machine.Reservation = nil, "" }, ""},
		"reservations that are not worked out": {func(v *drift.View) {
			v.Class.Status.CapacityReservations = nil
			unknown(v, ec2class.ConditionTypeCapacityReservationsReady)
		}, ""},
		"another placement group":                       {func(v *drift.View) { v.Group = "pg-2" }, drift.PlacementGroup},
		"no placement group any more":                   {func(v *drift.View) { v.Group = "" }, drift.PlacementGroup},
		"a placement group now":                         {func(v *drift.View) { v.Machine.Group = "" }, drift.PlacementGroup},
		"a placement group that is not there":           {func(v *drift.View) { v.Group = ""; unknown(v, ec2class.ConditionTypePlacementGroupReady) }, ""},
		"the spec comes before what the selectors mean": {func(v *drift.View) { v.Class.Annotations[hash], v.Image = "2", "ami-2" }, drift.NodeClass},
	} {
		t.Run(name, func(t *testing.T) {
			v := view()
			tt.change(&v)
			if got := drift.Find(v); got != tt.want {
				t.Errorf("drifted by %q, want %q", got, tt.want)
			}
		})
	}
}
