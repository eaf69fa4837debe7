package nodeclass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/api"
	"github.com/millwright-dev/millwright/cloud/aws/image"
	"github.com/millwright-dev/millwright/cloud/aws/network"
	"github.com/millwright-dev/millwright/cloud/aws/price"
	"github.com/millwright-dev/millwright/cloud/aws/selector"
)

// account is an AWS in memory; fail has calls answer with an error.
type account struct {
	subnets    map[string][]network.Subnet // by query
	groups     map[string][]ec2class.SecurityGroup
	parameters map[string]string
	images     []image.Image
	profiles   map[string]*api.Profile
	roles      []string
	placement  *api.PlacementGroup
	reserved   []api.Reservation
	fail       map[string]error
	calls      []string
}

func (a *account) call(name string) error {
	a.calls = append(a.calls, name)
	return a.fail[name]
}

func (a *account) Subnets(_ context.Context, q selector.Query) ([]network.Subnet, error) {
	return a.subnets[q.String()], a.call("Subnets")
}

func (a *account) SecurityGroups(_ context.Context, q selector.Query) ([]ec2class.SecurityGroup, error) {
	return a.groups[q.String()], a.call("SecurityGroups")
}

func (a *account) Images(_ context.Context, q selector.Query) ([]image.Image, error) {
	var out []image.Image
	for _, i := range a.images {
		if strings.Contains(q.String(), i.ID) {
			out = append(out, i)
		}
	}
	return out, a.call("Images")
}

func (a *account) Parameter(_ context.Context, name string) (string, error) {
	if err := a.call("Parameter"); err != nil {
		return "", err
	}
	if id, ok := a.parameters[name]; ok {
		return id, nil
	}
	return "", cloud.ErrNotFound
}

func (a *account) Profile(_ context.Context, name string) (api.Profile, error) {
	if err := a.call("Profile"); err != nil {
		return api.Profile{}, err
	}
	if p, ok := a.profiles[name]; ok {
		return *p, nil
	}
	return api.Profile{}, cloud.ErrNotFound
}

func (a *account) Profiles(_ context.Context, path string) ([]api.Profile, error) {
	var out []api.Profile
	for _, p := range a.profiles {
		if strings.HasPrefix(p.Path, path) {
			out = append(out, *p)
		}
	}
	return out, a.call("Profiles")
}

func (a *account) CreateProfile(_ context.Context, name, path string, _ map[string]string) error {
	if err := a.call("CreateProfile"); err != nil {
		return err
	}
	if a.profiles[name] == nil {
		a.profiles[name] = &api.Profile{Name: name, Path: path}
	}
	return nil
}

func (a *account) SetRole(_ context.Context, name, role string) error {
	if err := a.call("SetRole"); err != nil {
		return err
	}
	if !slices.Contains(a.roles, role) {
		return cloud.ErrNotFound
	}
	a.profiles[name].Roles = []string{role}
	return nil
}

func (a *account) DeleteProfile(_ context.Context, p api.Profile) error {
	delete(a.profiles, p.Name)
	return a.call("DeleteProfile")
}

func (a *account) Reservations(context.Context, selector.Query, time.Time) ([]api.Reservation, error) {
	return a.reserved, a.call("Reservations")
}

func (a *account) PlacementGroup(context.Context, string, string) (*api.PlacementGroup, error) {
	return a.placement, a.call("PlacementGroup")
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const standard = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id"

func newAccount() *account {
	return &account{
		subnets:    map[string][]network.Subnet{"tag:discovery=demo": {{ID: "subnet-1", Zone: "a", ZoneID: "az1", Free: 10}, {ID: "subnet-2", Zone: "b", ZoneID: "az2", Free: 20}}},
		groups:     map[string][]ec2class.SecurityGroup{"tag:discovery=demo": {{ID: "sg-2", Name: "b"}, {ID: "sg-1", Name: "a"}}},
		parameters: map[string]string{standard: "ami-1"}, images: []image.Image{{ID: "ami-1", Name: "al2023", Arch: "amd64", Created: noon}},
		profiles: map[string]*api.Profile{}, roles: []string{"nodes"}, fail: map[string]error{},
	}
}

func newClass(change ...func(*awsv1.EC2NodeClass)) *awsv1.EC2NodeClass {
	tags := map[string]string{"discovery": "demo"}
	c := &awsv1.EC2NodeClass{EC2NodeClass: ec2class.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid", Generation: 3},
		Spec: ec2class.EC2NodeClassSpec{
			Role: "nodes", AMISelectorTerms: []ec2class.AMISelectorTerm{{Alias: "al2023@latest"}},
			SubnetSelectorTerms: []ec2class.SubnetSelectorTerm{{Tags: tags}}, SecurityGroupSelectorTerms: []ec2class.SecurityGroupSelectorTerm{{Tags: tags}},
		},
	}}
	for _, f := range change {
		f(c)
	}
	return c
}

func newResolver(a *account) (*Resolver, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(noon)
	return New(Config{
		AWS: a, Clock: clock, Region: "eu-west-1", Cluster: "demo", Kubernetes: func() string { return "1.34" }, Addresses: &network.Addresses{},
		MayLaunch: func(context.Context, *awsv1.EC2NodeClass) error { return a.call("MayLaunch") },
		Check: func(c *awsv1.EC2NodeClass) error {
			if c.Spec.UserData != nil {
				return errors.New("spec.userData: too large")
			}
			return nil
		},
	}), clock
}

func TestAClassThatIsInOrderBecomesReady(t *testing.T) {
	a := newAccount()
	r, _ := newResolver(a)
	c := newClass()
	if again, err := r.Resolve(t.Context(), c); err != nil || again != recheck {
		t.Fatalf("again in %v, error %v", again, err)
	}
	got := fmt.Sprint(c.Status.Subnets, c.Status.SecurityGroups)
	if want := "[{subnet-2 b az2} {subnet-1 a az1}] [{sg-1 a} {sg-2 b}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(c.Status.AMIs) != 1 || c.Status.AMIs[0].ID != "ami-1" || len(c.Status.AMIs[0].Requirements) != 3 {
		t.Errorf("images are %+v", c.Status.AMIs)
	}
	p := a.profiles[c.Status.InstanceProfile]
	if p == nil || p.Path != "/karpenter/eu-west-1/demo/uid/" || !slices.Equal(p.Roles, []string{"nodes"}) {
		t.Errorf("the instance profile is %s: %+v", c.Status.InstanceProfile, p)
	}
	if ready := c.StatusConditions().Root(); !ready.IsTrue() || ready.ObservedGeneration != 3 {
		t.Errorf("not ready: %+v", c.Status.Conditions)
	}
}

func TestWhatIsWrongIsSaidInTheConditionOfItsStep(t *testing.T) {
	text, near := "x", "near"
	for name, tt := range map[string]struct {
		class     func(*awsv1.EC2NodeClass)
		account   func(*account)
		condition string
		want      string // reason and message
	}{
		"no subnet": {account: func(a *account) { a.subnets = nil }, condition: "SubnetsReady",
			want: "SubnetsNotFound: spec.subnetSelectorTerms: no subnet of the account in eu-west-1 fits any of the terms"},
		"no security group": {account: func(a *account) { a.groups = nil }, condition: "SecurityGroupsReady",
			want: "SecurityGroupsNotFound: spec.securityGroupSelectorTerms: no security group of the account in eu-west-1 fits any of the terms"},
		"no image": {class: func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{ID: "ami-9"}} }, condition: "AMIsReady",
			want: "AMINotFound: spec.amiSelectorTerms: no image of an architecture of Kubernetes fits any of the terms in eu-west-1"},
		"no parameter": {class: func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{SSMParameter: "mine"}}
		}, condition: "AMIsReady",
			want: "AMINotFound: spec.amiSelectorTerms: there is no SSM parameter mine in eu-west-1"},
		"no image of the alias": {account: func(a *account) { a.parameters = nil }, condition: "AMIsReady",
			want: "AMINotFound: spec.amiSelectorTerms: AWS publishes no image of AL2023@latest for Kubernetes 1.34 in eu-west-1"},
		"an alias that is over": {class: func(c *awsv1.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{Alias: "al2@latest"}}
		}, condition: "AMIsReady",
			want: "UnsupportedAlias: spec.amiSelectorTerms: there are no AL2 images for Kubernetes 1.33 and later"},
		"no role": {class: func(c *awsv1.EC2NodeClass) { c.Spec.Role = "missing" }, condition: "InstanceProfileReady",
			want: "InstanceProfileNotReady: spec.role: IAM has no role missing"},
		"no placement group": {class: func(c *awsv1.EC2NodeClass) {
			c.Spec.PlacementGroupSelector = &ec2class.PlacementGroupSelector{Name: &near}
		}, condition: "PlacementGroupReady",
			want: "PlacementGroupNotFound: spec.placementGroupSelector: there is no placement group near in eu-west-1"},
		"an invalid spec": {class: func(c *awsv1.EC2NodeClass) { c.Spec.UserData = &text }, condition: "ValidationSucceeded", want: "InvalidSpec: spec.userData: too large"},
		"a launch that is not allowed": {account: func(a *account) {
			a.fail["MayLaunch"] = &cloud.UnauthorizedError{Action: "ec2:RunInstances", Err: errors.New("no identity-based policy allows it")}
		}, condition: "ValidationSucceeded", want: "RunInstancesAuthCheckFailed: not allowed to ec2:RunInstances: no identity-based policy allows it"},
		"a launch that is refused": {account: func(a *account) {
			a.fail["MayLaunch"] = &cloud.RefusedError{Reason: "UserDataSizeLimitExceeded", Err: errors.New("16 KiB")}
		}, condition: "ValidationSucceeded", want: "UserDataSizeLimitExceeded: refused: 16 KiB"},
		"no permission": {account: func(a *account) {
			a.fail["Subnets"] = &cloud.UnauthorizedError{Action: "ec2:DescribeSubnets", Err: errors.New("no identity-based policy allows it")}
		}, condition: "SubnetsReady", want: "Unauthorized: not allowed to ec2:DescribeSubnets: no identity-based policy allows it"},
	} {
		t.Run(name, func(t *testing.T) {
			a, c := newAccount(), newClass()
			if tt.account != nil {
				tt.account(a)
			}
			if tt.class != nil {
				tt.class(c)
			}
			r, _ := newResolver(a)
			if _, err := r.Resolve(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			got := c.StatusConditions().Get(tt.condition)
			if s := got.Reason + ": " + got.Message; !got.IsFalse() || s != tt.want {
				t.Errorf("%s is %s, %s\nwant %s", tt.condition, got.Status, s, tt.want)
			}
			if c.StatusConditions().Root().IsTrue() {
				t.Error("the class is ready")
			}
			for _, s := range steps {
				other := c.StatusConditions().Get(s.condition)
				if other.Type == ec2class.ConditionTypeValidationSucceeded && other.Reason == "DependenciesNotReady" {
					continue
				}
				if s.condition != tt.condition && !other.IsTrue() {
					t.Errorf("%s is %+v", s.condition, other)
				}
			}
		})
	}
}

func TestAnAnswerThatDidNotComeChangesNothing(t *testing.T) {
	a, c := newAccount(), newClass()
	r, clock := newResolver(a)
	if _, err := r.Resolve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	clock.Step(publishedTTL)
	before := c.DeepCopy()
	throttled := &cloud.ThrottledError{Err: errors.New("slow down")}
	for _, call := range []string{"Subnets", "SecurityGroups", "Images", "Parameter"} {
		a.fail = map[string]error{call: throttled}
		if _, err := r.Resolve(t.Context(), c); !errors.Is(err, error(throttled)) {
			t.Errorf("%s: answered %v", call, err)
		}
		if fmt.Sprint(c.Status) != fmt.Sprint(before.Status) {
			t.Errorf("%s: the status became %+v", call, c.Status)
		}
	}
}

// Calls that are refused and prices that are not AWS's concern no class alone: each is told by
// a condition as long as it lasts, and the class is ready all the same.
func TestWhatConcernsTheProcessIsToldWhileItLasts(t *testing.T) {
	a, c := newAccount(), newClass()
	r, _ := newResolver(a)
	var missing, held []string
	reason, doubt := "", ""
	r.Held = func() []string { return held }
	r.Missing, r.Prices = func() []string { return missing }, func() (string, string) { return reason, doubt }
	for _, tt := range []struct {
		missing, held []string
		reason, doubt string
		want          string
	}{
		{},
		{nil, []string{"c"}, "", "", "millwright.dev/CallsAllowed RequestLimitExceeded c"},
		{nil, nil, price.BuiltIn, "built in", "millwright.dev/PricesCurrent BuiltIn built in"},
		{[]string{"a", "b"}, []string{"c"}, price.Outdated, "old", "millwright.dev/CallsAllowed Unauthorized a; b; c, millwright.dev/PricesCurrent Outdated old"},
		{},
	} {
		missing, held, reason, doubt = tt.missing, tt.held, tt.reason, tt.doubt
		if _, err := r.Resolve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, condition := range c.Status.Conditions {
			if strings.HasPrefix(condition.Type, "millwright.dev/") {
				said = append(said, condition.Type+" "+condition.Reason+" "+condition.Message)
			}
		}
		slices.Sort(said)
		if got := strings.Join(said, ", "); got != tt.want || !c.StatusConditions().Root().IsTrue() {
			t.Errorf("said is %q, want %q; Ready is %+v", got, tt.want, c.StatusConditions().Root())
		}
	}
}

// A zone without addresses is no fault of the class: its other zones may have some.
func TestAZoneWithoutAddressesIsSaidWhileItLasts(t *testing.T) {
	a, c := newAccount(), newClass()
	r, _ := newResolver(a)
	for _, free := range []int64{0, 1} {
		a.subnets["tag:discovery=demo"][0].Free = free
		if _, err := r.Resolve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		said := c.StatusConditions().Get(network.Condition)
		if (said != nil) != (free == 0) || said != nil && (!said.IsFalse() || said.Message != "there are no free addresses in the subnets of a") {
			t.Errorf("with %d addresses: %+v", free, said)
		}
		if !c.StatusConditions().Root().IsTrue() || !c.StatusConditions().IsTrue(ec2class.ConditionTypeSubnetsReady) {
			t.Errorf("with %d addresses the class is %+v", free, c.Status.Conditions)
		}
	}
}

// AWS's parameters count for a day, unless their image is no good any more; others for minutes.
func TestParametersAreReadAgainWhenTheirImagesMayHaveChanged(t *testing.T) {
	own := func(c *awsv1.EC2NodeClass) {
		c.Spec.AMISelectorTerms = []ec2class.AMISelectorTerm{{SSMParameter: "mine"}}
	}
	for name, tt := range map[string]struct {
		class  func(*awsv1.EC2NodeClass)
		images []image.Image
		again  time.Duration
	}{
		"AWS's":               {class: func(*awsv1.EC2NodeClass) {}, images: []image.Image{{ID: "ami-1", Arch: "amd64"}}, again: publishedTTL},
		"AWS's of old":        {class: func(*awsv1.EC2NodeClass) {}, images: []image.Image{{ID: "ami-1", Arch: "amd64", Deprecated: noon}}, again: outdatedTTL},
		"AWS's of none":       {class: func(*awsv1.EC2NodeClass) {}, again: outdatedTTL},
		"one's own":           {class: own, images: []image.Image{{ID: "ami-1", Arch: "amd64"}}, again: ownTTL},
		"one's own, outdated": {class: own, again: ownTTL},
	} {
		t.Run(name, func(t *testing.T) {
			a, c := newAccount(), newClass(tt.class)
			a.images = tt.images
			for _, p := range []string{"x86_64/nvidia", "x86_64/neuron", "arm64/standard", "arm64/nvidia"} {
				a.parameters["/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/"+p+"/recommended/image_id"] = "ami-1"
			}
			a.parameters["mine"] = "ami-1"
			r, clock := newResolver(a)
			reads := func() (n int) {
				a.calls = nil
				if _, err := r.Resolve(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				for _, call := range a.calls {
					if call == "Parameter" {
						n++
					}
				}
				return n
			}
			first := reads()
			clock.Step(tt.again - time.Second)
			if n := reads(); first == 0 || n != 0 {
				t.Errorf("%d reads at first, %d before %v", first, n, tt.again)
			}
			clock.Step(time.Second)
			if n := reads(); n != first {
				t.Errorf("%d reads after %v, want %d", n, tt.again, first)
			}
		})
	}
}

func TestAProfileIsMadeOnceAndLookedAtNowAndThen(t *testing.T) {
	a, c := newAccount(), newClass()
	r, clock := newResolver(a)
	count := func(name string) (n int) {
		for _, call := range a.calls {
			if call == name {
				n++
			}
		}
		return n
	}
	for range 3 {
		if _, err := r.Resolve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if count("CreateProfile") != 1 || count("Profile") != 2 {
		t.Errorf("%d profiles made, %d looked at", count("CreateProfile"), count("Profile"))
	}
	first := c.Status.InstanceProfile
	clock.Step(profileTTL)
	delete(a.profiles, first)
	if _, err := r.Resolve(t.Context(), c); err != nil || a.profiles[first] == nil || c.Status.InstanceProfile != first {
		t.Errorf("a profile that was deleted is not made anew: %v", err)
	}
}

// A deleted profile is made again as soon as EC2 refuses it, not at the next check.
func TestAProfileThatEC2DoesNotKnowIsLookedAtAgain(t *testing.T) {
	a, c := newAccount(), newClass()
	r, _ := newResolver(a)
	for range 2 { // it is made, and found to be right
		if _, err := r.Resolve(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	name := c.Status.InstanceProfile
	delete(a.profiles, name)
	r.MayLaunch = func(context.Context, *awsv1.EC2NodeClass) error {
		if a.profiles[name] == nil {
			return &cloud.RefusedError{Reason: profileUnknown, Err: errors.New("no such profile")}
		}
		return nil
	}
	if _, err := r.Resolve(t.Context(), c); err == nil || a.profiles[name] != nil {
		t.Errorf("at first: error %v, profile %v", err, a.profiles[name])
	}
	if _, err := r.Resolve(t.Context(), c); err != nil || a.profiles[name] == nil || c.Status.InstanceProfile != name {
		t.Errorf("then: error %v, profile %v", err, a.profiles[name])
	}
}

// A profile of the owner's that the class named before belongs to something else: it may be deleted
// or get another role.
func TestAProfileThatTheClassNamedIsNotThatOfItsRole(t *testing.T) {
	a, c := newAccount(), newClass()
	a.profiles["theirs"] = &api.Profile{Name: "theirs", Path: "/", Roles: []string{"nodes"}}
	c.Spec.InstanceProfile, c.Spec.Role = new("theirs"), ""
	r, _ := newResolver(a)
	if _, err := r.Resolve(t.Context(), c); err != nil || c.Status.InstanceProfile != "theirs" {
		t.Fatalf("at first the instance profile is %s, error %v", c.Status.InstanceProfile, err)
	}
	c.Spec.InstanceProfile, c.Spec.Role = nil, "nodes"
	if _, err := r.Resolve(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if p := a.profiles[c.Status.InstanceProfile]; p == nil || p.Path != r.path(c) || !slices.Equal(p.Roles, []string{"nodes"}) {
		t.Errorf("then it is %s: %+v", c.Status.InstanceProfile, p)
	}
}

func TestAProfileThatKarpenterMadeIsKept(t *testing.T) {
	a, c := newAccount(), newClass()
	a.profiles["demo_123"] = &api.Profile{Name: "demo_123", Path: "/karpenter/eu-west-1/demo/uid/", Roles: []string{"nodes"}}
	c.Status.InstanceProfile = "demo_123"
	r, _ := newResolver(a)
	if _, err := r.Resolve(t.Context(), c); err != nil || c.Status.InstanceProfile != "demo_123" || len(a.profiles) != 1 {
		t.Errorf("the profile is %s of %d, error %v", c.Status.InstanceProfile, len(a.profiles), err)
	}
	if err := r.Release(t.Context(), c); err != nil || len(a.profiles) != 0 {
		t.Errorf("%d profiles are left, error %v", len(a.profiles), err)
	}
}

func TestAnInstanceProfileOfTheUsersIsTakenAsItIs(t *testing.T) {
	name := "mine"
	a, c := newAccount(), newClass(func(c *awsv1.EC2NodeClass) { c.Spec.Role, c.Spec.InstanceProfile = "", &name })
	r, _ := newResolver(a)
	if _, err := r.Resolve(t.Context(), c); err != nil || c.Status.InstanceProfile != "mine" || slices.Contains(a.calls, "CreateProfile") {
		t.Errorf("the profile is %s, error %v, calls %v", c.Status.InstanceProfile, err, a.calls)
	}
}

// What was mended counts soon, and a class that stays as it is costs fewer calls.
func TestAClassThatIsNotReadyIsLookedAtSooner(t *testing.T) {
	a, c := newAccount(), newClass()
	r, clock := newResolver(a)
	subnets := a.subnets
	var pauses []string
	look := func() {
		again, err := r.Resolve(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		pauses = append(pauses, again.String())
	}
	look()
	a.subnets = nil
	for _, wrong := range []time.Duration{0, time.Minute, 40 * time.Second, time.Hour} {
		clock.Step(wrong)
		look()
	}
	a.subnets = subnets
	look()
	if got := strings.Join(pauses, " "); got != "1m0s 5s 6s 10s 15s 1m0s" {
		t.Errorf("looked at again after %s", got)
	}
}
