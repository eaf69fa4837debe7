package selector

import (
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

func drawn(queries []Query) string {
	var out []string
	for _, q := range queries {
		out = append(out, q.String())
	}
	return strings.Join(out, " | ")
}

func TestTermsBecomeQueries(t *testing.T) {
	tags := map[string]string{"team": "x", "discovery": "*"}
	for name, tt := range map[string]struct {
		got  []Query
		want string
	}{
		"subnets: tags are ANDed, terms ORed, IDs asked for at once": {
			Subnets([]ec2class.SubnetSelectorTerm{{ID: "subnet-1"}, {Tags: tags}, {ID: "subnet-2"}}),
			"tag-key=discovery tag:team=x | subnet-id=subnet-1,subnet-2"},
		"security groups": {
			SecurityGroups([]ec2class.SecurityGroupSelectorTerm{{ID: "sg-1"}, {Name: "nodes"}, {Tags: tags}}),
			"tag-key=discovery tag:team=x | group-id=sg-1 | group-name=nodes"},
		"reservations": {
			Reservations([]ec2class.CapacityReservationSelectorTerm{{ID: "cr-1"}, {OwnerID: "111122223333", InstanceMatchCriteria: "open", Tags: tags}}),
			"state=active capacity-reservation-id=cr-1 | state=active owner-id=111122223333 instance-match-criteria=open tag-key=discovery tag:team=x"},
		"images: an ID has no owner":                  {Images([]ec2class.AMISelectorTerm{{ID: "ami-1"}, {ID: "ami-2"}}), "state=available image-id=ami-1,ami-2"},
		"images: a name is the account's or Amazon's": {Images([]ec2class.AMISelectorTerm{{Name: "mine-*"}}), "state=available name=mine-* owners=amazon,self"},
		"images: tags":           {Images([]ec2class.AMISelectorTerm{{Tags: tags}}), "state=available tag-key=discovery tag:team=x"},
		"images: tags and owner": {Images([]ec2class.AMISelectorTerm{{Tags: tags, Name: "a", Owner: "self"}}), "state=available name=a tag-key=discovery tag:team=x owners=self"},
		"images: aliases and parameters are not EC2's": {Images([]ec2class.AMISelectorTerm{{Alias: "al2023@latest"}, {SSMParameter: "p"}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(tt.got); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}
