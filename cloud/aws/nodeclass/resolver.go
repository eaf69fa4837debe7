package nodeclass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/awslabs/operatorpkg/status"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/aws/selector"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// AWS is what the steps ask; [api.Client] answers it.
type AWS interface {
	Network
	Images
	Profiles
	Reservations(ctx context.Context, q selector.Query, now time.Time) ([]api.Reservation, error)
	PlacementGroup(ctx context.Context, id, name string) (*api.PlacementGroup, error)
}

// Network answers for subnets and security groups.
type Network interface {
	Subnets(ctx context.Context, q selector.Query) ([]network.Subnet, error)
	SecurityGroups(ctx context.Context, q selector.Query) ([]ec2class.SecurityGroup, error)
}

// Images answers for images.
type Images interface {
	Images(ctx context.Context, q selector.Query) ([]image.Image, error)
	Parameter(ctx context.Context, name string) (string, error)
}

// Profiles keeps instance profiles.
type Profiles interface {
	Profile(ctx context.Context, name string) (api.Profile, error)
	Profiles(ctx context.Context, path string) ([]api.Profile, error)
	CreateProfile(ctx context.Context, name, path string, tags map[string]string) error
	SetRole(ctx context.Context, profile, role string) error
	DeleteProfile(ctx context.Context, p api.Profile) error
}

// Config is what a Resolver needs; every field without another word is required.
type Config struct {
	AWS   AWS
	Clock clock.Clock
	// Region and Cluster name what is made for a class.
	Region, Cluster string
	// Kubernetes tells the version of the control plane, such as 1.34.
	Kubernetes func() string
	// Addresses is told how many each subnet has left.
	Addresses *network.Addresses
	// Check names what is wrong with a class by itself; nil if nothing is. Errors: RefusedError,
	// if Karpenter has a reason for it.
	Check func(*awsv1.EC2NodeClass) error
	// MayLaunch tries the calls of a launch without making anything. Errors:
	// cloud.UnauthorizedError, RefusedError.
	MayLaunch func(context.Context, *awsv1.EC2NodeClass) error
	// Missing tells which calls AWS has refused lately for lack of a right, whatever they were
	// for; nil if it is not known.
	Missing func() []string
	// Held tells which calls wait because AWS refuses more of them as too frequent; nil if it is not
	// known.
	Held func() []string
	// Prices tells why prices may not be today's, and the reason in one word; empty if they are.
	// Nil tells nothing.
	Prices func() (reason, message string)
}

// Resolver works out the status of classes. It is safe for concurrent use.
type Resolver struct {
	Config
	mu sync.Mutex
	// checked is when an instance profile was last found to be right.
	checked map[string]time.Time
	// left is how many machines capacity reservations have room for: what EC2 said last, less
	// those launched since and with those ended since.
	left map[string]int
	// groups are the placement groups of the classes, by class.
	groups map[string]*api.PlacementGroup
	// parameters are those of SSM, by name.
	parameters map[string]parameter
	// serial grows when left or groups change.
	serial uint64
}

// New makes a Resolver.
func New(c Config) *Resolver {
	return &Resolver{Config: c, checked: map[string]time.Time{}, left: map[string]int{}, groups: map[string]*api.PlacementGroup{}, parameters: map[string]parameter{}}
}

// Periods of looking again.
const (
	recheck = time.Minute
	// A class that is not ready is looked at again after a tenth of the time since, within
	// these bounds: it is ready that soon after it was mended.
	mendedLeast, mendedMost = 5 * time.Second, 15 * time.Second
	// profileTTL is how long an instance profile that was right is not looked at.
	profileTTL = 15 * time.Minute
)

// step is one part of the status.
type step struct {
	condition string
	run       func(*Resolver, context.Context, *awsv1.EC2NodeClass) error
}

var steps = []step{
	{ec2class.ConditionTypeSubnetsReady, (*Resolver).subnets},
	{ec2class.ConditionTypeSecurityGroupsReady, (*Resolver).securityGroups},
	{ec2class.ConditionTypeAMIsReady, (*Resolver).images},
	{ec2class.ConditionTypeInstanceProfileReady, (*Resolver).profile},
	{ec2class.ConditionTypePlacementGroupReady, (*Resolver).placementGroup},
	{ec2class.ConditionTypeCapacityReservationsReady, (*Resolver).reservations},
	{ec2class.ConditionTypeValidationSucceeded, (*Resolver).validation},
}

// wrong is what is the matter with a class, for a condition.
type wrong struct{ reason, message string }

func (w *wrong) Error() string { return w.reason + ": " + w.message }

func wrongf(reason, format string, args ...any) error {
	return &wrong{reason, fmt.Sprintf(format, args...)}
}

// unauthorized is the reason of a step that the credentials do not allow.
const unauthorized = "Unauthorized"

// Resolve works out the status of a class, in place.
func (r *Resolver) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (time.Duration, error) {
	conditions := class.StatusConditions(status.WithClock(r.Clock))
	var unanswered []error
	for _, s := range steps {
		err := s.run(r, ctx, class)
		var w *wrong
		var denied *cloud.UnauthorizedError
		switch {
		case err == nil:
			conditions.SetTrue(s.condition)
		case errors.As(err, &w):
			conditions.SetFalse(s.condition, w.reason, w.message)
		case errors.As(err, &denied):
			conditions.SetFalse(s.condition, unauthorized, denied.Error())
		default:
			unanswered = append(unanswered, fmt.Errorf("%s: %w", s.condition, err))
		}
	}
	unanswered = append(unanswered, r.told(conditions, class))
	again := recheck
	if ready := conditions.Root(); !ready.IsTrue() {
		again = min(max(r.Clock.Since(ready.LastTransitionTime.Time)/10, mendedLeast), mendedMost)
	}
	return again, errors.Join(unanswered...)
}

// CallsAllowed is the condition of a class that says which calls AWS refuses, for lack of a right or
// as too frequent, also such as are for no class. It is only there while one is refused, and a class
// is ready without it.
const CallsAllowed = "millwright.dev/CallsAllowed"

// told says what concerns the process, not the class alone, and which zones are full.
func (r *Resolver) told(conditions status.ConditionSet, class *awsv1.EC2NodeClass) error {
	var failed []error
	tell := func(condition, reason, message string) {
		if message == "" {
			failed = append(failed, conditions.Clear(condition))
			return
		}
		conditions.SetFalse(condition, reason, message)
	}
	full := make([]string, 0, len(class.Status.Subnets))
	for _, zone := range network.Marked(class.Annotations) {
		full = append(full, "there are no "+network.Lacks(zone))
	}
	tell(network.Condition, network.NoAddresses, strings.Join(full, "; "))
	reason, message := r.refused()
	tell(CallsAllowed, reason, message)
	if r.Prices != nil {
		reason, message := r.Prices()
		tell(price.Condition, reason, message)
	}
	return errors.Join(failed...)
}

// refused are the calls that AWS refuses, with the reason of the gravest.
func (r *Resolver) refused() (reason, message string) {
	var missing, held []string
	if r.Missing != nil {
		missing = r.Missing()
	}
	if r.Held != nil {
		held = r.Held()
	}
	if reason = cloud.Throttled; len(missing) > 0 {
		reason = unauthorized
	}
	return reason, strings.Join(append(missing, held...), "; ")
}

func (r *Resolver) subnets(ctx context.Context, class *awsv1.EC2NodeClass) error {
	var all []network.Subnet
	for _, q := range selector.Subnets(class.Spec.SubnetSelectorTerms) {
		found, err := r.AWS.Subnets(ctx, q)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	r.Addresses.Seen(all)
	class.Status.Subnets = network.Status(all)
	r.Addresses.Mark(&class.EC2NodeClass)
	if len(all) == 0 {
		return wrongf("SubnetsNotFound", "spec.subnetSelectorTerms: no subnet of the account in %s fits any of the terms", r.Region)
	}
	return nil
}

func (r *Resolver) securityGroups(ctx context.Context, class *awsv1.EC2NodeClass) error {
	var all []ec2class.SecurityGroup
	for _, q := range selector.SecurityGroups(class.Spec.SecurityGroupSelectorTerms) {
		found, err := r.AWS.SecurityGroups(ctx, q)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	class.Status.SecurityGroups = unique(all, func(g ec2class.SecurityGroup) string { return g.ID })
	if len(all) == 0 {
		return wrongf("SecurityGroupsNotFound", "spec.securityGroupSelectorTerms: no security group of the account in %s fits any of the terms", r.Region)
	}
	return nil
}

// images are those of an alias, or those that the terms find.
func (r *Resolver) images(ctx context.Context, class *awsv1.EC2NodeClass) error {
	found, err := r.found(ctx, class)
	if err != nil {
		return err
	}
	class.Status.AMIs = found
	if len(found) == 0 {
		return wrongf("AMINotFound", "spec.amiSelectorTerms: no image of an architecture of Kubernetes fits any of the terms in %s", r.Region)
	}
	return nil
}

func (r *Resolver) found(ctx context.Context, class *awsv1.EC2NodeClass) ([]ec2class.AMI, error) {
	if alias := class.Alias(); alias != nil {
		return r.aliased(ctx, alias)
	}
	queries := selector.Images(class.Spec.AMISelectorTerms)
	var named []string
	for _, t := range class.Spec.AMISelectorTerms {
		if t.SSMParameter == "" {
			continue
		}
		id, err := r.parameter(ctx, t.SSMParameter)
		if errors.Is(err, cloud.ErrNotFound) {
			return nil, wrongf("AMINotFound", "spec.amiSelectorTerms: there is no SSM parameter %s in %s", t.SSMParameter, r.Region)
		}
		if err != nil {
			return nil, err
		}
		named = append(named, id)
	}
	if len(named) > 0 {
		queries = append(queries, selector.ImageIDs(named))
	}
	images, err := r.described(ctx, queries)
	return image.Selected(images, r.Clock.Now()), err
}

func (r *Resolver) aliased(ctx context.Context, alias *ec2class.Alias) ([]ec2class.AMI, error) {
	version := r.Kubernetes()
	if problem := image.Unsupported(alias, version); problem != "" {
		return nil, wrongf("UnsupportedAlias", "spec.amiSelectorTerms: %s", problem)
	}
	parameters, err := image.Parameters(alias, version)
	if err != nil {
		return nil, wrongf("AMINotFound", "%v", err)
	}
	ids, all := map[string]string{}, []string{}
	for _, p := range parameters {
		id, err := r.parameter(ctx, p.Name)
		if errors.Is(err, cloud.ErrNotFound) {
			continue // not every variant exists in every version
		}
		if err != nil {
			return nil, err
		}
		ids[p.Name], all = id, append(all, id)
	}
	if len(all) == 0 {
		return nil, wrongf("AMINotFound", "spec.amiSelectorTerms: AWS publishes no image of %s for Kubernetes %s in %s", alias, version, r.Region)
	}
	images, err := r.described(ctx, []selector.Query{selector.ImageIDs(all)})
	if err != nil {
		return nil, err
	}
	now := r.Clock.Now()
	for name, id := range ids {
		if i := slices.IndexFunc(images, func(i image.Image) bool { return i.ID == id }); i < 0 || images[i].Over(now) {
			r.outdated(name)
		}
	}
	return image.Aliased(parameters, ids, images, now), nil
}

func (r *Resolver) described(ctx context.Context, queries []selector.Query) ([]image.Image, error) {
	var all []image.Image
	for _, q := range queries {
		found, err := r.AWS.Images(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (r *Resolver) placementGroup(ctx context.Context, class *awsv1.EC2NodeClass) error {
	s := class.Spec.PlacementGroupSelector
	if s == nil {
		r.keepGroup(class.Name, nil)
		return nil
	}
	id, name := text(s.ID), text(s.Name)
	group, err := r.AWS.PlacementGroup(ctx, id, name)
	if err != nil {
		return err
	}
	r.keepGroup(class.Name, group)
	if group == nil {
		return wrongf("PlacementGroupNotFound", "spec.placementGroupSelector: there is no placement group %s in %s", cmp.Or(id, name), r.Region)
	}
	return nil
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

func (r *Resolver) keepGroup(class string, group *api.PlacementGroup) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.groups[class]; before != group && (before == nil || group == nil || *before != *group) {
		r.groups[class] = group
		r.serial++
	}
}

// Group is the placement group of a class, nil if it has none or it is not known.
func (r *Resolver) Group(class string) *api.PlacementGroup {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.groups[class]
}

func (r *Resolver) reservations(ctx context.Context, class *awsv1.EC2NodeClass) error {
	var all []ec2class.CapacityReservation
	for _, q := range selector.Reservations(class.Spec.CapacityReservationSelectorTerms) {
		found, err := r.AWS.Reservations(ctx, q, r.Clock.Now())
		if err != nil && !errors.Is(err, cloud.ErrNotFound) { // one that has ended is forgotten after a while
			return err
		}
		for _, one := range found {
			all = append(all, one.CapacityReservation)
			r.keepLeft(one.ID, one.Left)
		}
	}
	class.Status.CapacityReservations = unique(all, func(c ec2class.CapacityReservation) string { return c.ID })
	return nil
}

func (r *Resolver) keepLeft(id string, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, known := r.left[id]; !known || before != left {
		r.left[id] = left
		r.serial++
	}
}

// Serial changes when an answer of Group or Left may have.
func (r *Resolver) Serial() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serial
}

// Drawn takes note that a capacity reservation has room for n machines less, or more if n is
// below zero, than EC2 said: it is asked once a minute only.
func (r *Resolver) Drawn(reservation string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, known := r.left[reservation]; known {
		r.left[reservation] = max(0, before-n)
		r.serial++
	}
}

// Left is for how many machines a capacity reservation has room, as far as EC2 has told this
// process.
func (r *Resolver) Left(reservation string) (n int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, known = r.left[reservation]
	return n, known
}

// validation says what is wrong with the class by itself, and whether machines may be launched
// from it. It comes last, when the other steps have found what it refers to.
func (r *Resolver) validation(ctx context.Context, class *awsv1.EC2NodeClass) error {
	var refused *cloud.RefusedError
	switch err := r.Check(class); {
	case errors.As(err, &refused):
		return wrongf(refused.Reason, "%v", refused.Err)
	case err != nil:
		return wrongf("InvalidSpec", "%v", err)
	}
	conditions := class.StatusConditions(status.WithClock(r.Clock))
	for _, needed := range []string{
		ec2class.ConditionTypeSubnetsReady, ec2class.ConditionTypeSecurityGroupsReady, ec2class.ConditionTypeAMIsReady, ec2class.ConditionTypeInstanceProfileReady,
		ec2class.ConditionTypePlacementGroupReady,
	} {
		switch c := conditions.Get(needed); {
		case c.IsFalse():
			return wrongf(snapshot.DependenciesNotReady, "launches are tried once %s is true", needed)
		case !c.IsTrue():
			return fmt.Errorf("launches are tried once %s is known", needed)
		}
	}
	err := r.MayLaunch(ctx, class)
	var denied *cloud.UnauthorizedError
	switch {
	case errors.As(err, &denied):
		_, name, _ := strings.Cut(denied.Action, ":")
		return wrongf(name+"AuthCheckFailed", "%v", denied)
	case errors.As(err, &refused) && refused.Reason == profileUnknown && class.Spec.InstanceProfile != nil:
		return wrongf(refused.Reason, "spec.instanceProfile: EC2 knows no instance profile %s: %v", *class.Spec.InstanceProfile, refused)
	case errors.As(err, &refused) && refused.Reason != profileUnknown:
		return wrongf(refused.Reason, "%v", refused)
	case refused != nil: // it may have been deleted meanwhile
		r.mu.Lock()
		delete(r.checked, checkKey(class.Status.InstanceProfile, class.Spec.Role))
		r.mu.Unlock()
	}
	return err
}

// profileUnknown is the reason with which EC2 refuses an instance profile that it has not heard
// of, or not yet. Another step has found that IAM has it, if not just now.
const profileUnknown = "InstanceProfileNameInvalid"
