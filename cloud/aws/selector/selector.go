// Package selector turns the selector terms of an EC2NodeClass into queries of EC2's
// describing calls: AND within a term, OR between them.
package selector

import (
	"maps"
	"slices"
	"strings"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

// Filter is one of EC2's filters: a name, and the values that would do.
type Filter struct {
	Name   string
	Values []string
}

// Query is one call: all filters must hold. A result of any query of a list counts.
type Query struct {
	Filters []Filter
	// Owners are accounts, self, amazon or aws-marketplace; of images only.
	Owners []string
}

// String is the query in one line, the same for the same query.
func (q Query) String() string {
	var out []string
	for _, f := range q.Filters {
		out = append(out, f.Name+"="+strings.Join(f.Values, ","))
	}
	if len(q.Owners) > 0 {
		out = append(out, "owners="+strings.Join(q.Owners, ","))
	}
	return strings.Join(out, " ")
}

// Tagged has the filters for tags, by key; the value * is any.
func Tagged(tags map[string]string) []Filter {
	var out []Filter
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if value := tags[key]; value == "*" {
			out = append(out, Filter{"tag-key", []string{key}})
		} else {
			out = append(out, Filter{"tag:" + key, []string{value}})
		}
	}
	return out
}

// Subnets are the queries of spec.subnetSelectorTerms.
func Subnets(terms []ec2class.SubnetSelectorTerm) []Query {
	var out queries
	for _, t := range terms {
		out.add("subnet-id", t.ID, t.Tags)
	}
	return out.list()
}

// SecurityGroups are the queries of spec.securityGroupSelectorTerms.
func SecurityGroups(terms []ec2class.SecurityGroupSelectorTerm) []Query {
	var out queries
	for _, t := range terms {
		if t.Name != "" {
			out.add("group-name", t.Name, t.Tags)
			continue
		}
		out.add("group-id", t.ID, t.Tags)
	}
	return out.list()
}

// Reservations are the queries of spec.capacityReservationSelectorTerms.
func Reservations(terms []ec2class.CapacityReservationSelectorTerm) []Query {
	active := Filter{"state", []string{"active"}}
	var out []Query
	for _, t := range terms {
		q := Query{Filters: []Filter{active}}
		if t.ID != "" {
			q.Filters = append(q.Filters, Filter{"capacity-reservation-id", []string{t.ID}})
		}
		if t.OwnerID != "" {
			q.Filters = append(q.Filters, Filter{"owner-id", []string{t.OwnerID}})
		}
		if t.InstanceMatchCriteria != "" {
			q.Filters = append(q.Filters, Filter{"instance-match-criteria", []string{t.InstanceMatchCriteria}})
		}
		q.Filters = append(q.Filters, Tagged(t.Tags)...)
		out = append(out, q)
	}
	return out
}

// Images are the queries of spec.amiSelectorTerms, without those that name an SSM parameter.
// A name alone is looked for in the own account and among Amazon's images; tags are only
// visible to the account that set them, and an ID needs no owner.
func Images(terms []ec2class.AMISelectorTerm) []Query {
	available := Filter{"state", []string{"available"}}
	var out []Query
	var ids []string
	for _, t := range terms {
		switch {
		case t.Alias != "" || t.SSMParameter != "":
		case t.ID != "":
			ids = append(ids, t.ID)
		default:
			q := Query{Filters: []Filter{available}}
			if t.Name != "" {
				q.Filters = append(q.Filters, Filter{"name", []string{t.Name}})
			}
			q.Filters = append(q.Filters, Tagged(t.Tags)...)
			switch {
			case t.Owner != "":
				q.Owners = []string{t.Owner}
			case t.Name != "":
				q.Owners = []string{"amazon", "self"}
			}
			out = append(out, q)
		}
	}
	if len(ids) > 0 {
		out = append(out, ImageIDs(ids))
	}
	return out
}

// ImageIDs asks for images by ID.
func ImageIDs(ids []string) Query {
	return Query{Filters: []Filter{{"state", []string{"available"}}, {"image-id", ids}}}
}

// queries asks for all IDs, and all names, at once.
type queries struct {
	tagged  []Query
	byField map[string][]string
}

func (q *queries) add(field, value string, tags map[string]string) {
	if value == "" {
		q.tagged = append(q.tagged, Query{Filters: Tagged(tags)})
		return
	}
	if q.byField == nil {
		q.byField = map[string][]string{}
	}
	q.byField[field] = append(q.byField[field], value)
}

func (q *queries) list() []Query {
	out := q.tagged
	for _, field := range slices.Sorted(maps.Keys(q.byField)) {
		out = append(out, Query{Filters: []Filter{{field, q.byField[field]}}})
	}
	return out
}
