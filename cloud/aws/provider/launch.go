package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/fleet"
	"github.com/millwright-dev/millwright/cloud/aws/launchtemplate"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// lookAgain is how long a launch waits until it looks again for a machine that an
// earlier request may have launched.
const lookAgain = 5 * time.Second

// Launch rents one machine. See package fleet for how it stays one.
func (p *Provider) Launch(ctx context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	if req.Token == "" || len(req.Choices) == 0 {
		return cloud.Instance{}, fmt.Errorf("launching for claim %q: the request needs a token and choices", req.Claim)
	}
	class, err := p.class(ctx, req.Class)
	if err != nil {
		return cloud.Instance{}, err
	}
	a := p.attempts.of(req.Token, p.Clock.Now())
	a.mu.Lock()
	defer a.mu.Unlock()
	instance, err := (&launch{Provider: p, attempt: a, req: req, class: class}).run(ctx)
	if err == nil {
		p.attempts.finished(req.Token)
	}
	p.tried.refused(class.Name, err)
	return instance, err
}

// launch is one call of Launch.
type launch struct {
	*Provider
	attempt *attempt
	req     cloud.LaunchRequest
	class   *awsv1.EC2NodeClass

	refused []catalog.Key
	cause   string
	// failed are errors that are not for lack of capacity.
	failed []error
}

// errNothing says that EC2 has answered and launched nothing.
var errNothing = errors.New("nothing was launched")

func (l *launch) run(ctx context.Context) (cloud.Instance, error) {
	if open := l.attempt.open; open != nil {
		if i, err := l.send(ctx, open); !errors.Is(err, errNothing) {
			return i, err
		}
	}
	for _, wave := range fleet.Waves(l.req.Choices) {
		if slices.Contains(l.attempt.broken, wave.Source()) {
			continue
		}
		if i, err := l.try(ctx, wave); !errors.Is(err, errNothing) {
			return i, err
		}
	}
	if len(l.attempt.broken) > 0 { // none is left to be tried instead
		l.attempt.broken = nil
		l.failed = append(l.failed, errBroken)
	}
	if len(l.failed) > 0 {
		return cloud.Instance{}, l.failed[0]
	}
	return cloud.Instance{}, &cloud.InsufficientCapacityError{Offerings: l.refused, Cause: l.cause}
}

// try asks for one wave. A launch template that was deleted meanwhile is made anew, once.
func (l *launch) try(ctx context.Context, wave fleet.Wave) (cloud.Instance, error) {
	for again := false; ; again = true {
		s, err := l.prepare(ctx, wave)
		if err != nil {
			return cloud.Instance{}, err
		}
		i, err := l.send(ctx, s)
		switch {
		case errors.Is(err, errTemplateGone) && s.unmade != nil:
			return cloud.Instance{}, s.unmade
		case errors.Is(err, errTemplateGone) && !again:
			for _, c := range s.request.Configs {
				l.templates.forget(c.Template)
			}
		case errors.Is(err, errTokenBurnt), errors.Is(err, errOtherSubnet):
		default:
			return i, err
		}
	}
}

var (
	errTemplateGone = errors.New("a launch template is gone")
	errTokenBurnt   = errors.New("the token belongs to an attempt that failed")
	errBroken       = &cloud.CallError{Action: "ec2:CreateFleet", Reason: "InternalError", Err: errors.New("EC2 has a fault for whatever else could be asked for, too")}
	errOtherSubnet  = fmt.Errorf("%w: a subnet is full, and another one of its zone is not", errNothing)
)

// prepare makes the request for a wave, with the launch templates that it names.
func (l *launch) prepare(ctx context.Context, wave fleet.Wave) (*sent, error) {
	reservation := l.reservation(wave.Reservation)
	names, contents := map[string]string{}, map[string]*launchtemplate.Content{} // by type, by name
	for _, c := range wave.Choices {
		if names[c.Type.Name] != "" {
			continue
		}
		content, err := l.content(c, reservation)
		if err != nil {
			return nil, err
		}
		name := content.Name()
		names[c.Type.Name], contents[name] = name, content
	}
	var unmade error
	template := func(c catalog.Choice) string { return names[c.Type.Name] }
	wave = wave.Within(template)
	for _, c := range wave.Choices {
		content, due := contents[template(c)]
		if !due {
			continue
		}
		var fault *cloud.CallError
		if err := l.ensureTemplate(ctx, content); errors.As(err, &fault) {
			unmade = err // it may be there, made by a predecessor
		} else if err != nil {
			return nil, err
		}
		delete(contents, template(c))
	}
	subnets, done := l.addresses.Choose(l.class.Status.Subnets, wave.Zones(), need(&wave))
	parts := fleet.Parts{
		Token: fleet.Token(l.req.Token, l.attempt.number), Subnet: subnets, Tags: l.tags(),
		Template: template,
		Image:    func(c catalog.Choice) string { return c.Type.Image },
	}
	if l.class.Spec.Context != nil {
		parts.Context = *l.class.Spec.Context
	}
	if reservation != nil {
		parts.Kind, parts.Interruptible = string(reservation.ReservationType), reservation.Interruptible
	}
	request := fleet.New(&wave, parts)
	if len(request.Configs) == 0 {
		done("")
		for _, c := range wave.Choices {
			l.refused = append(l.refused, c.Key())
		}
		return nil, errNothing
	}
	return &sent{request, wave, l.class, done, unmade}, nil
}

// need is how many addresses a machine of the wave will take at least: its own and its pods'.
func need(w *fleet.Wave) int64 {
	least := int64(0)
	for _, c := range w.Choices {
		if n := c.Type.Capacity.Pods().Value(); least == 0 || n < least {
			least = n
		}
	}
	return least + 1
}

func (l *launch) reservation(id string) *ec2class.CapacityReservation {
	for i := range l.class.Status.CapacityReservations {
		if r := &l.class.Status.CapacityReservations[i]; id != "" && r.ID == id {
			return r
		}
	}
	return nil
}

// tags are those of the instance, its volumes and the fleet.
func (l *launch) tags() map[string]string {
	tags := launchtemplate.Tags(l.class, l.req.Pool, l.Cluster.Name)
	tags[ec2class.NodeClaimTagKey], tags[TokenTag] = l.req.Claim, l.req.Token
	if hash := l.class.Annotations[ec2class.AnnotationEC2NodeClassHash]; hash != "" {
		tags[HashTag] = l.class.Annotations[ec2class.AnnotationEC2NodeClassHashVersion] + "/" + hash
	}
	if _, ok := tags[ec2class.NameTagKey]; !ok {
		tags[ec2class.NameTagKey] = l.req.Claim
	}
	return tags
}

// send makes the call and reads the answer.
func (l *launch) send(ctx context.Context, s *sent) (cloud.Instance, error) {
	answer, meaning, err := l.AWS.Launch(ctx, s.request)
	if err != nil {
		return l.unanswered(ctx, s, meaning, err)
	}
	l.attempt.open, l.attempt.doubt = nil, time.Time{}
	s.done(answer.Instance.Subnet)
	err = l.judge(s, answer)
	if answer.Instance.ID == "" {
		l.attempt.number++
		return cloud.Instance{}, err
	}
	return l.launched(ctx, s, answer.Instance)
}

// unanswered says what is known after an error: that nothing was launched, that there was an
// earlier request, or nothing.
func (l *launch) unanswered(ctx context.Context, s *sent, meaning fleet.Meaning, err error) (cloud.Instance, error) {
	switch meaning = s.wave.Meant(meaning); meaning {
	case fleet.TokenUsed:
		s.done("")
		l.attempt.open = nil
		return l.adopt(ctx)
	case fleet.Unknown, fleet.Broken:
		l.attempt.open = s
		if l.attempt.doubt.IsZero() {
			l.attempt.doubt = l.Clock.Now()
		}
		if l.Clock.Since(l.attempt.doubt) < fleet.Doubt {
			return cloud.Instance{}, err
		}
		if i, lost := l.adopt(ctx); !errors.Is(lost, errTokenBurnt) {
			return i, lost
		}
		l.fail(s, "", cloud.Reason(err))
		l.cause = cmp.Or(l.cause, err.Error())
		l.attempt.broken, l.failed = append(l.attempt.broken, s.wave.Source()), append(l.failed, err)
		err = errNothing
	case fleet.NoTemplate:
		err = fmt.Errorf("%w: %w", errTemplateGone, err)
	case fleet.NoCapacity, fleet.NoRoom, fleet.NoAddresses, fleet.NoSpot, fleet.Quota:
		// The whole call was refused for what is otherwise said of an offering.
		l.fail(s, "", cloud.Reason(err))
		l.cause = err.Error()
		switch l.lacks(s, s.wave.Keys("")); {
		case meaning == fleet.NoRoom:
			l.resolver.Drawn(s.wave.Reservation, math.MaxInt)
		case s.wave.Reservation != "":
			l.soldOut.add(l.scope(s), "", s.wave.Keys("")...)
		}
		if meaning == fleet.NoSpot {
			l.soldOut.add(scope{}, err.Error(), catalog.Key{CapacityType: catalog.Spot})
		}
		err = errNothing
	}
	s.done("")
	l.attempt.open = nil
	return cloud.Instance{}, err
}

// adopt looks for the machine that an earlier launch with this token has asked for.
func (l *launch) adopt(ctx context.Context) (cloud.Instance, error) {
	found, err := l.AWS.Instances(ctx, map[string]string{TokenTag: l.req.Token, launchtemplate.OwnerTag(l.Cluster.Name): "owned"})
	if err != nil {
		return cloud.Instance{}, err
	}
	if len(found) > 0 {
		return l.instance(ctx, earliest(found)), nil
	}
	now := l.Clock.Now()
	if l.attempt.doubt.IsZero() {
		l.attempt.doubt = now
	}
	if now.Sub(l.attempt.doubt) < fleet.Doubt {
		return cloud.Instance{}, &cloud.ThrottledError{RetryAfter: lookAgain, Err: errors.New("an earlier launch of this claim may have started a machine that EC2 does not show yet")}
	}
	l.attempt.number, l.attempt.doubt = l.attempt.number+1, time.Time{}
	return cloud.Instance{}, errTokenBurnt
}

// earliest is the machine that was launched first, by ID among equals.
func earliest(list []api.Instance) *api.Instance {
	first := &list[0]
	for i := range list {
		if c := list[i].Launched.Compare(first.Launched); c < 0 || c == 0 && list[i].ID < first.ID {
			first = &list[i]
		}
	}
	return first
}

// fail tells of an offering that a request did not get; without a zone, of all of them.
func (l *launch) fail(s *sent, zone, reason string) {
	l.req.Fail(cloud.LaunchFailure{Zone: zone, ZoneID: l.zoneID(zone), CapacityType: s.wave.CapacityType, Reason: reason})
}

// zoneID is what all accounts call a zone, as far as the class knows.
func (l *launch) zoneID(zone string) string {
	for _, s := range l.class.Status.Subnets {
		if s.Zone == zone {
			return s.ZoneID
		}
	}
	return ""
}

// judge remembers what the failures of an answer teach. It says what to do if nothing was
// launched.
func (l *launch) judge(s *sent, answer fleet.Answer) error {
	for _, f := range answer.Failures {
		_, reason := fleet.Means(f.Code, f.Message)
		l.fail(s, f.Zone, reason)
	}
	v := fleet.Judge(&s.wave, answer.Failures)
	next := errNothing
	for _, full := range v.Full {
		l.addresses.Full(full.ID)
		l.soldOut.add(scope{subnet: full.ID}, "", catalog.Key{})
	}
	zones := l.full(l.class)
	for _, full := range v.Full {
		if !slices.Contains(zones, full.Zone) {
			next = errOtherSubnet
		}
	}
	if v.NoSpot {
		l.soldOut.add(scope{}, v.Cause, catalog.Key{CapacityType: catalog.Spot})
	}
	l.cause = cmp.Or(l.cause, v.Cause)
	if l.lacks(s, v.SoldOut); v.NoRoom {
		l.resolver.Drawn(s.wave.Reservation, math.MaxInt)
	} else {
		// Limited are among SoldOut; what is added first stands.
		l.soldOut.add(l.scope(s), v.Limit, v.Limited...)
		l.soldOut.add(l.scope(s), "", v.SoldOut...)
	}
	var throttled *cloud.ThrottledError
	switch {
	case errors.As(v.Err, &throttled): // which says nothing of what can be had
		return v.Err
	case v.Err != nil:
		l.failed = append(l.failed, v.Err)
	}
	return next
}

// scope is within what offerings of a request are sold out.
func (l *launch) scope(s *sent) scope {
	return scope{group: l.group(l.class), reservation: s.wave.Reservation}
}

// lacks takes note of offerings that a launch goes without. Those of a reservation or a placement
// group are known here alone: the port cannot tell them from others of the same type and zone.
func (l *launch) lacks(s *sent, keys []catalog.Key) {
	in := l.scope(s)
	switch {
	case in == (scope{}):
		l.refused = append(l.refused, keys...)
	case len(keys) == 0:
	case in.reservation != "":
		l.cause = cmp.Or(l.cause, "capacity reservation "+in.reservation+" has no room")
	default:
		l.cause = cmp.Or(l.cause, fmt.Sprintf("placement group %s has no room for %s in %s", in.group, keys[0].Type, keys[0].Zone))
	}
}

// fabric reports whether the machine gets fabric adapters beyond what the class lists: only if
// its pods ask for them.
func (l *launch) fabric() bool {
	efas := l.req.Requests[ec2class.ResourceEFA]
	return !efas.IsZero()
}

// attached is what the machine has of what its type can have.
func (l *launch) attached(can corev1.ResourceList) corev1.ResourceList {
	if l.fabric() || len(l.class.Spec.NetworkInterfaces) > 0 {
		return can
	}
	has := can.DeepCopy()
	delete(has, ec2class.ResourceEFA)
	return has
}

// launched describes the machine that EC2 has just started.
func (l *launch) launched(ctx context.Context, s *sent, i fleet.Launched) (cloud.Instance, error) {
	choice, ok := s.wave.Find(i.Type, i.Zone)
	if !ok {
		return cloud.Instance{}, fmt.Errorf("ec2:CreateFleet: started %s of type %s in %s, which was not asked for", i.ID, i.Type, i.Zone)
	}
	out := cloud.Instance{
		ProviderID: providerID(i.Zone, i.ID), Token: l.req.Token, Claim: l.req.Claim, Pool: l.req.Pool,
		Type: i.Type, Zone: i.Zone, CapacityType: s.wave.CapacityType, ImageID: i.Image,
		State: cloud.Pending, Launched: l.Clock.Now(),
		Labels: labels(choice.Type, choice.Offering, l.tenancy()), Annotations: annotations(s.class),
		Capacity: l.attached(choice.Type.Capacity), Allocatable: l.attached(choice.Type.Allocatable()),
		JoinsBare: s.class.AMIFamily() == ec2class.AMIFamilyCustom, Lacked: l.cause,
	}
	machine := api.Instance{
		ID: i.ID, Type: i.Type, Image: i.Image, Zone: i.Zone, ZoneID: l.zoneID(i.Zone), Subnet: i.Subnet, State: "pending", Launched: out.Launched, Tags: s.request.Tags,
		Spot: s.wave.CapacityType == catalog.Spot, Reservation: s.wave.Reservation, Tenancy: l.tenancy(), Group: l.group(s.class),
	}
	for _, g := range s.class.Status.SecurityGroups {
		machine.SecurityGroups = append(machine.SecurityGroups, g.ID)
	}
	l.machines.Launched(machine)
	l.resolver.Drawn(s.wave.Reservation, 1)
	partition, err := l.partition(ctx, i.ID)
	if err != nil {
		return cloud.Instance{}, fmt.Errorf("%s: %w", out.ProviderID, err)
	}
	if partition != "" {
		out.Labels[ec2class.LabelPlacementGroupPartition] = partition
	}
	return out, nil
}

// tenancy is what the claim asks for, else shared hardware.
func (l *launch) tenancy() string {
	if t := l.req.Labels[ec2class.LabelInstanceTenancy]; t != "" {
		return t
	}
	return "default"
}

// annotations are what Karpenter's controllers look for on a claim that is launched: from
// which spec, and that the machine has its tags.
func annotations(class *awsv1.EC2NodeClass) map[string]string {
	out := map[string]string{
		ec2class.AnnotationInstanceTagged: "true", ec2class.AnnotationClusterNameTaggedCompatability: "true",
		ec2class.AnnotationInstanceProfile: class.Status.InstanceProfile,
	}
	for _, key := range []string{ec2class.AnnotationEC2NodeClassHash, ec2class.AnnotationEC2NodeClassHashVersion} {
		if v, ok := class.Annotations[key]; ok {
			out[key] = v
		}
	}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "" })
	return out
}
