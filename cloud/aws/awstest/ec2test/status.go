package ec2test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Event is what EC2 has scheduled for an instance.
type Event struct {
	// InstanceEventId is filled in if it is empty.
	InstanceEventId string
	// Code is instance-stop, instance-retirement, instance-reboot, system-reboot or
	// system-maintenance.
	Code, Description   string
	NotBefore, NotAfter time.Time
}

// Checks of an instance that can fail.
const (
	InstanceCheck = "instance"
	SystemCheck   = "system"
	VolumeCheck   = "ebs"
)

// Schedule schedules an event, and does it when its time comes: an instance is stopped by
// instance-stop and instance-retirement, unless it was stopped and started before, which
// moves it to other hardware. It returns the event's ID.
func (e *EC2) Schedule(id string, event Event) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i, err := e.one(id)
	if err != nil {
		return "", err
	}
	if event.InstanceEventId == "" {
		event.InstanceEventId = e.id("instance-event")
	}
	i.events = append(i.events, event)
	if event.Code == "instance-stop" || event.Code == "instance-retirement" {
		const code = "Server.ScheduledStop"
		e.later(i, event.NotBefore.Sub(e.now()), code, code+": Stopped due to scheduled maintenance", stopping, stopped)
	}
	return event.InstanceEventId, nil
}

// FailCheck lets a check of an instance fail from now on.
func (e *EC2) FailCheck(id, check string) error {
	if !slices.Contains([]string{InstanceCheck, SystemCheck, VolumeCheck}, check) {
		return wire.Errorf("InvalidParameterValue", "%q is not a check; there are %s, %s and %s", check, InstanceCheck, SystemCheck, VolumeCheck)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	i, err := e.one(id)
	if err != nil {
		return err
	}
	if i.failed == nil {
		i.failed = map[string]time.Time{}
	}
	i.failed[check] = e.now()
	return nil
}

// moved takes note that an instance starts on other hardware.
func (i *instance) moved() { i.events, i.failed = nil, nil }

type checkDetail struct {
	Name, Status  string
	ImpairedSince time.Time
}

type checkSummary struct {
	Status  string
	Details []checkDetail
}

type instanceStatus struct {
	InstanceId, AvailabilityZone                    string
	InstanceState                                   state
	InstanceStatus, SystemStatus, AttachedEbsStatus checkSummary
	Events                                          []Event
}

func (e *EC2) instanceStatus(i *instance) instanceStatus {
	check := func(name string) checkSummary {
		if since, failed := i.failed[name]; failed {
			return checkSummary{"impaired", []checkDetail{{"reachability", "failed", since}}}
		}
		return checkSummary{"ok", []checkDetail{{Name: "reachability", Status: "passed"}}}
	}
	return instanceStatus{
		InstanceId: i.id, AvailabilityZone: i.zone.Name, InstanceState: e.state(i), Events: i.events,
		InstanceStatus: check(InstanceCheck), SystemStatus: check(SystemCheck), AttachedEbsStatus: check(VolumeCheck),
	}
}

var statusFields = describe.Fields[instanceStatus]{
	"availability-zone":          describe.One(func(s instanceStatus) string { return s.AvailabilityZone }),
	"instance-state-name":        describe.One(func(s instanceStatus) string { return s.InstanceState.Name }),
	"instance-status.status":     describe.One(func(s instanceStatus) string { return s.InstanceStatus.Status }),
	"system-status.status":       describe.One(func(s instanceStatus) string { return s.SystemStatus.Status }),
	"attached-ebs-status.status": describe.One(func(s instanceStatus) string { return s.AttachedEbsStatus.Status }),
	"event.code": func(s instanceStatus) []string {
		var out []string
		for _, e := range s.Events {
			out = append(out, e.Code)
		}
		return out
	},
}

type describeInstanceStatusInput struct {
	describe.Query
	InstanceIds         []string
	IncludeAllInstances bool
}

func describeInstanceStatus(e *EC2, in describeInstanceStatusInput) (any, error) {
	if _, err := e.lookup(in.InstanceIds); err != nil {
		return nil, err
	}
	var out struct {
		InstanceStatuses []instanceStatus
		NextToken        string
	}
	for _, id := range slices.Sorted(maps.Keys(e.instances)) {
		i := e.instances[id]
		if !e.visible(i) || e.state(i) == terminated || !in.IncludeAllInstances && e.state(i) != running || len(in.InstanceIds) > 0 && !slices.Contains(in.InstanceIds, id) {
			continue
		}
		s := e.instanceStatus(i)
		ok, err := describe.Pass(in.Filters, statusFields, nil, s)
		if err != nil {
			return nil, err
		}
		if ok {
			out.InstanceStatuses = append(out.InstanceStatuses, s)
		}
	}
	var err error
	out.InstanceStatuses, out.NextToken, err = describe.Page(out.InstanceStatuses, func(s instanceStatus) string { return s.InstanceId }, in.MaxResults, 5, 1000, in.NextToken)
	return out, err
}

type spotRequest struct {
	SpotInstanceRequestId, InstanceId, State, Type string
	Status                                         struct {
		Code, Message string
		UpdateTime    time.Time
	}
}

var spotRequestFields = describe.Fields[spotRequest]{
	"instance-id":              describe.One(func(r spotRequest) string { return r.InstanceId }),
	"spot-instance-request-id": describe.One(func(r spotRequest) string { return r.SpotInstanceRequestId }),
	"state":                    describe.One(func(r spotRequest) string { return r.State }),
	"status-code":              describe.One(func(r spotRequest) string { return r.Status.Code }),
}

// spotRequest is the one of a spot instance; it says when the instance is being reclaimed.
func (e *EC2) spotRequest(i *instance) spotRequest {
	out := spotRequest{SpotInstanceRequestId: i.spotRequest, InstanceId: i.id, State: "active", Type: "one-time"}
	c := e.current(i)
	out.Status.Code, out.Status.Message, out.Status.UpdateTime = "fulfilled", "Your Spot request is fulfilled.", i.launched
	last := i.states[len(i.states)-1]
	switch {
	case (c.state == shuttingDown || c.state == terminated) && c.code == reclaimed:
		out.State, out.Status.Code, out.Status.UpdateTime = "closed", "instance-terminated-no-capacity", c.at
	case c.state == shuttingDown || c.state == terminated:
		out.State, out.Status.Code, out.Status.UpdateTime = "closed", "instance-terminated-by-user", c.at
	case last.code == reclaimed:
		out.Status.Code, out.Status.UpdateTime = "marked-for-termination", i.marked
	}
	return out
}

type describeSpotInstanceRequestsInput struct {
	describe.Query
	SpotInstanceRequestIds []string
}

func describeSpotInstanceRequests(e *EC2, in describeSpotInstanceRequestsInput) (any, error) {
	var out struct {
		SpotInstanceRequests []spotRequest
		NextToken            string
	}
	for _, id := range slices.Sorted(maps.Keys(e.instances)) {
		i := e.instances[id]
		if i.spotRequest == "" || len(in.SpotInstanceRequestIds) > 0 && !slices.Contains(in.SpotInstanceRequestIds, i.spotRequest) {
			continue
		}
		r := e.spotRequest(i)
		ok, err := describe.Pass(in.Filters, spotRequestFields, e.tags[i.spotRequest], r)
		if err != nil {
			return nil, err
		}
		if ok {
			out.SpotInstanceRequests = append(out.SpotInstanceRequests, r)
		}
	}
	var err error
	key := func(r spotRequest) string { return fmt.Sprintf("%s/%s", r.InstanceId, r.SpotInstanceRequestId) }
	out.SpotInstanceRequests, out.NextToken, err = describe.Page(out.SpotInstanceRequests, key, in.MaxResults, 5, 1000, in.NextToken)
	return out, err
}
