package status

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// most is how many values a filter may have.
const most = 200

// Confirm is cloud.Inspector's.
func (i *Inspector) Confirm(ctx context.Context, events []cloud.Event) ([]cloud.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out []cloud.Event
	if slices.ContainsFunc(events, func(e cloud.Event) bool { return listed(e.Kind) }) {
		all, err := i.List(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, matching(events, all)...)
	}
	for _, question := range []struct {
		kinds []interruption.Kind
		ask   func(context.Context, []string) (map[string]interruption.Kind, error)
	}{
		{[]interruption.Kind{interruption.Stopped, interruption.Terminated}, i.states},
		{[]interruption.Kind{interruption.Spot}, i.spotRequests},
	} {
		of := slices.DeleteFunc(slices.Clone(events), func(e cloud.Event) bool { return !slices.Contains(question.kinds, e.Kind) })
		for part := range slices.Chunk(of, most) {
			var ids []string
			for _, e := range part {
				ids = append(ids, instance(e.Machine))
			}
			known, err := question.ask(ctx, ids)
			if err != nil {
				return out, err
			}
			for _, e := range part {
				if known[instance(e.Machine)] == e.Kind {
					e.Confirmed = true
					out = append(out, e)
				}
			}
		}
	}
	return out, nil
}

// listed reports whether List knows of a kind.
func listed(k interruption.Kind) bool {
	switch k {
	case interruption.Maintenance, interruption.InstanceImpaired, interruption.SystemImpaired, interruption.VolumeImpaired:
		return true
	}
	return false
}

// matching are those of EC2's events that are about a machine and of a kind and code
// that was asked about.
func matching(asked, all []cloud.Event) []cloud.Event {
	return slices.DeleteFunc(all, func(e cloud.Event) bool {
		return !slices.ContainsFunc(asked, func(a cloud.Event) bool {
			return a.Kind == e.Kind && (a.Code == e.Code || a.Code == "" || e.Code == "") && instance(a.Machine) == e.Machine
		})
	})
}

// states are what the states of machines confirm.
func (i *Inspector) states(ctx context.Context, ids []string) (map[string]interruption.Kind, error) {
	out := map[string]interruption.Kind{}
	pages := ec2.NewDescribeInstancesPaginator(i.client, &ec2.DescribeInstancesInput{Filters: []types.Filter{{Name: aws.String("instance-id"), Values: ids}}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explain("ec2:DescribeInstances", err)
		}
		for _, r := range page.Reservations {
			for _, instance := range r.Instances {
				if kind, ok := kindOf(instance.State); ok {
					out[aws.ToString(instance.InstanceId)] = kind
				}
			}
		}
	}
	return out, nil
}

func kindOf(s *types.InstanceState) (interruption.Kind, bool) {
	if s == nil {
		return "", false
	}
	switch s.Name {
	case types.InstanceStateNameStopping, types.InstanceStateNameStopped:
		return interruption.Stopped, true
	case types.InstanceStateNameShuttingDown, types.InstanceStateNameTerminated:
		return interruption.Terminated, true
	}
	return "", false
}

// spotRequests are the machines that their spot request says are being reclaimed.
func (i *Inspector) spotRequests(ctx context.Context, ids []string) (map[string]interruption.Kind, error) {
	out := map[string]interruption.Kind{}
	pages := ec2.NewDescribeSpotInstanceRequestsPaginator(i.client, &ec2.DescribeSpotInstanceRequestsInput{
		Filters: []types.Filter{{Name: aws.String("instance-id"), Values: ids}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explain("ec2:DescribeSpotInstanceRequests", err)
		}
		for _, r := range page.SpotInstanceRequests {
			if r.Status == nil {
				continue
			}
			status := aws.ToString(r.Status.Code)
			if strings.HasPrefix(status, "marked-for-") || strings.HasPrefix(status, "instance-terminated-") || strings.HasPrefix(status, "instance-stopped-") {
				out[aws.ToString(r.InstanceId)] = interruption.Spot
			}
		}
	}
	return out, nil
}

// instance is the ID that a provider ID ends in.
func instance(machine string) string { return machine[strings.LastIndexByte(machine, '/')+1:] }
