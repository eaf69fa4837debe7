package iamtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Config is what there is at first.
type Config struct {
	// Clock is nil for the real time.
	Clock clock.PassiveClock
	// Account is 12 digits.
	Account string
	// Roles exist, by name.
	Roles []string
	// Policies are the names of AWS's own policies that are attached to each role.
	Policies []string
	// Profiles exist, by name, each with the role of its name if there is one.
	Profiles []string
	// Lag is how long EC2 does not know a new profile, or its new role.
	Lag time.Duration
}

// IAM is one account's. It is safe for concurrent use.
type IAM struct {
	config  Config
	actions map[string]wire.Handler

	mu       sync.Mutex
	serial   int
	roles    map[string]role
	profiles map[string]*profile
}

type tag struct{ Key, Value string }

type role struct {
	RoleName, RoleId, Arn, Path string
	CreateDate                  time.Time
}

type profile struct {
	InstanceProfileName, InstanceProfileId, Arn, Path string
	CreateDate                                        time.Time
	Roles                                             []role
	Tags                                              []tag

	// changed is when EC2 began to learn of it.
	changed time.Time
}

// ProfileNames lists the instance profiles.
func (s *IAM) ProfileNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.profiles))
}

// New makes an IAM.
func New(c Config) *IAM {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	s := &IAM{config: c, roles: map[string]role{}, profiles: map[string]*profile{}}
	for _, name := range c.Roles {
		s.roles[name] = role{name, s.id("AROA"), s.arn("role", "/", name), "/", c.Clock.Now()}
	}
	for _, name := range c.Profiles {
		p := s.make(name, "/")
		p.changed = time.Time{}
		if r, ok := s.roles[name]; ok {
			p.Roles = []role{r}
		}
	}
	s.actions = map[string]wire.Handler{
		"AddRoleToInstanceProfile":       wire.Handle(s.addRole),
		"CreateInstanceProfile":          wire.Handle(s.create),
		"DeleteInstanceProfile":          wire.Handle(s.remove),
		"GetAccountAuthorizationDetails": wire.Handle(s.details),
		"GetCallerIdentity":              wire.Handle(s.caller),
		"GetInstanceProfile":             wire.Handle(s.get),
		"GetRole":                        wire.Handle(s.getRole),
		"ListInstanceProfiles":           wire.Handle(s.list),
		"RemoveRoleFromInstanceProfile":  wire.Handle(s.removeRole),
		"TagInstanceProfile":             wire.Handle(s.tagProfile),
	}
	return s
}

// Handle answers a call to IAM or STS.
func (s *IAM) Handle(r *wire.Request) (any, error) {
	h := s.actions[r.Operation.Name]
	if h == nil {
		return nil, wire.Errorf("InvalidAction", "%s is not played here", r.Operation.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return h(r)
}

// KnownToEC2 reports whether instances can be launched with a profile: it exists, has a
// role, and has been so for long enough. It takes a name or an ARN.
func (s *IAM) KnownToEC2(nameOrARN string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.profiles[path.Base(nameOrARN)]
	if p == nil || strings.HasPrefix(nameOrARN, "arn:") && p.Arn != nameOrARN {
		return false
	}
	return len(p.Roles) > 0 && !s.config.Clock.Now().Before(p.changed.Add(s.config.Lag))
}

func (s *IAM) id(prefix string) string {
	s.serial++
	return fmt.Sprintf("%s%017d", prefix, s.serial)
}

func (s *IAM) arn(kind, path, name string) string {
	return fmt.Sprintf("arn:aws:iam::%s:%s%s%s", s.config.Account, kind, path, name)
}

func (s *IAM) make(name, path string) *profile {
	now := s.config.Clock.Now()
	p := &profile{InstanceProfileName: name, InstanceProfileId: s.id("AIPA"), Arn: s.arn("instance-profile", path, name), Path: path, CreateDate: now, changed: now}
	s.profiles[name] = p
	return p
}

func noSuch(kind, name string) error {
	return &wire.Error{Code: "NoSuchEntity", Message: fmt.Sprintf("%s %s cannot be found.", kind, name), Status: http.StatusNotFound}
}

func (s *IAM) find(name string) (*profile, error) {
	if p := s.profiles[name]; p != nil {
		return p, nil
	}
	return nil, noSuch("Instance Profile", name)
}

// input has the members of all actions.
type input struct {
	InstanceProfileName, RoleName, Path string
	Tags                                []tag

	PathPrefix, Marker string
	MaxItems           *int
}

func (s *IAM) get(in input) (any, error) {
	p, err := s.find(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return map[string]any{"InstanceProfile": *p}, nil
}

func (s *IAM) getRole(in input) (any, error) {
	r, ok := s.roles[in.RoleName]
	if !ok {
		return nil, noSuch("The role with name", in.RoleName)
	}
	return map[string]any{"Role": r}, nil
}

// details answers with all roles at once, whatever is asked for. They may be taken by instances.
func (s *IAM) details(struct{}) (any, error) {
	type policy struct{ PolicyName, PolicyArn string }
	type detail struct {
		role
		AssumeRolePolicyDocument string
		AttachedManagedPolicies  []policy
		InstanceProfileList      []profile
	}
	out := []detail{}
	for _, name := range slices.Sorted(maps.Keys(s.roles)) {
		d := detail{
			role:                     s.roles[name],
			AssumeRolePolicyDocument: url.QueryEscape(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
		}
		for _, p := range s.config.Policies {
			d.AttachedManagedPolicies = append(d.AttachedManagedPolicies, policy{p, "arn:aws:iam::aws:policy/" + p})
		}
		for _, name := range slices.Sorted(maps.Keys(s.profiles)) {
			if p := *s.profiles[name]; len(p.Roles) > 0 && p.Roles[0].RoleName == d.RoleName {
				p.Tags = nil
				d.InstanceProfileList = append(d.InstanceProfileList, p)
			}
		}
		out = append(out, d)
	}
	return map[string]any{"RoleDetailList": out, "IsTruncated": false}, nil
}

func (s *IAM) create(in input) (any, error) {
	if s.profiles[in.InstanceProfileName] != nil {
		return nil, &wire.Error{Code: "EntityAlreadyExists", Message: fmt.Sprintf("Instance Profile %s already exists.", in.InstanceProfileName), Status: http.StatusConflict}
	}
	if in.Path == "" {
		in.Path = "/"
	}
	if !strings.HasPrefix(in.Path, "/") || !strings.HasSuffix(in.Path, "/") {
		return nil, wire.Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	p := s.make(in.InstanceProfileName, in.Path)
	p.Tags = in.Tags
	return map[string]any{"InstanceProfile": *p}, nil
}

func (s *IAM) remove(in input) (any, error) {
	p, err := s.find(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if len(p.Roles) > 0 {
		return nil, &wire.Error{Code: "DeleteConflict", Message: "Cannot delete entity, must remove roles from instance profile first.", Status: http.StatusConflict}
	}
	delete(s.profiles, in.InstanceProfileName)
	return nil, nil
}

func (s *IAM) addRole(in input) (any, error) {
	p, err := s.find(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	r, ok := s.roles[in.RoleName]
	if !ok {
		return nil, noSuch("The role with name", in.RoleName)
	}
	if len(p.Roles) > 0 {
		return nil, &wire.Error{Code: "LimitExceeded", Message: "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1", Status: http.StatusConflict}
	}
	p.Roles, p.changed = []role{r}, s.config.Clock.Now()
	return nil, nil
}

func (s *IAM) removeRole(in input) (any, error) {
	p, err := s.find(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if len(p.Roles) == 0 || p.Roles[0].RoleName != in.RoleName {
		return nil, noSuch("The role with name", in.RoleName)
	}
	p.Roles = nil
	return nil, nil
}

func (s *IAM) tagProfile(in input) (any, error) {
	p, err := s.find(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	merged := map[string]string{}
	for _, t := range slices.Concat(p.Tags, in.Tags) {
		merged[t.Key] = t.Value
	}
	p.Tags = nil
	for _, key := range slices.Sorted(maps.Keys(merged)) {
		p.Tags = append(p.Tags, tag{key, merged[key]})
	}
	return nil, nil
}

// list answers by name. As IAM does, it leaves out the tags.
func (s *IAM) list(in input) (any, error) {
	if n := in.MaxItems; n != nil && (*n < 1 || *n > 1000) {
		return nil, wire.Errorf("ValidationError", "Value '%d' at 'maxItems' failed to satisfy constraint: it is not from 1 to 1000", *n)
	}
	var out struct {
		InstanceProfiles []profile
		IsTruncated      bool
		Marker           string
	}
	for _, name := range slices.Sorted(maps.Keys(s.profiles)) {
		if p := *s.profiles[name]; strings.HasPrefix(p.Path, in.PathPrefix) {
			p.Tags = nil
			out.InstanceProfiles = append(out.InstanceProfiles, p)
		}
	}
	most := 100
	var err error
	out.InstanceProfiles, out.Marker, err = describe.Page(out.InstanceProfiles, func(p profile) string { return p.InstanceProfileName }, cmp.Or(in.MaxItems, &most), 1, 1000, in.Marker)
	out.IsTruncated = out.Marker != ""
	return out, err
}

func (s *IAM) caller(struct{}) (any, error) {
	return map[string]any{"Account": s.config.Account, "Arn": s.arn("user", "/", "sandbox"), "UserId": "AIDA00000000000000000"}, nil
}
