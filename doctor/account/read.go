package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/millwright-dev/millwright/cluster/decode"
)

// Told is what documents say.
type Told struct {
	Account Account
	Queues  []Queue
}

// document has what is read of all kinds of documents.
type document struct {
	Subnets []struct {
		SubnetID                string `json:"SubnetId"`
		AvailabilityZone        string
		AvailableIPAddressCount int `json:"AvailableIpAddressCount"`
		Tags                    []tag
	}
	SecurityGroups []struct {
		GroupID   string `json:"GroupId"`
		GroupName string
		Tags      []tag
	}
	CapacityReservations []struct {
		CapacityReservationID                      string `json:"CapacityReservationId"`
		InstanceType, AvailabilityZone             string
		InstanceMatchCriteria, State               string
		ReservationType                            string
		Interruptible                              bool
		TotalInstanceCount, AvailableInstanceCount int
		Tags                                       []tag
	}
	Role                  *role
	Roles, RoleDetailList []role
	AttachedPolicies      []attached
	InstanceProfile       *profile
	InstanceProfiles      []profile
	EvaluationResults     []evaluation
	Attributes            map[string]string
	Rules                 []struct{ EventPattern, State string }
	IsTruncated           bool
}

type tag struct{ Key, Value string }

type attached struct {
	PolicyName string
	PolicyARN  string `json:"PolicyArn"`
}

type role struct {
	RoleName                string
	ARN                     string          `json:"Arn"`
	AssumeRolePolicyDoc     json.RawMessage `json:"AssumeRolePolicyDocument"`
	AttachedManagedPolicies []attached
	RolePolicyList          []struct{ PolicyName string }
	InstanceProfileList     []profile
}

type profile struct {
	InstanceProfileName string
	Roles               []struct{ RoleName string }
}

type evaluation struct {
	EvalActionName, EvalResourceName, EvalDecision string
	MissingContextValues                           []string
}

var errForm = errors.New("none of the documents of the AWS CLI that are read: describe-subnets, describe-security-groups, describe-capacity-reservations, get-account-authorization-details, list-roles, get-role, list-attached-role-policies after it, get-instance-profile, list-instance-profiles, simulate-principal-policy, get-queue-attributes, list-rules")

// Read reads documents that follow each other.
func Read(r io.Reader) (Told, error) {
	var out reading
	dec := json.NewDecoder(r)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			return out.told()
		case errors.Is(err, io.EOF):
			return Told{}, errors.New("it is empty; want what the AWS CLI prints")
		case err != nil:
			return Told{}, fmt.Errorf("not JSON: %w", err)
		}
		if err := out.add(raw); err != nil {
			return Told{}, fmt.Errorf("document %d: %w", n, err)
		}
	}
}

// reading is what has been read so far.
type reading struct {
	account Account
	roles   []role
	queues  []map[string]string
	rules   []Pattern
}

// keys are the members by which a document is known.
var keys = []string{"Subnets", "SecurityGroups", "CapacityReservations", "Role", "Roles", "RoleDetailList", "AttachedPolicies", "InstanceProfile", "InstanceProfiles", "EvaluationResults", "Attributes", "Rules"}

func (r *reading) add(raw json.RawMessage) error {
	var members map[string]json.RawMessage
	var d document
	if err := json.Unmarshal(raw, &members); err != nil {
		return errForm
	}
	known := false
	for _, key := range keys {
		known = known || members[key] != nil
	}
	if !known {
		return errForm
	}
	if err := decode.JSON(raw, &d); err != nil {
		return fmt.Errorf("%w; not what the AWS CLI prints", err)
	}
	for _, s := range d.Subnets {
		r.account.Subnets = append(r.account.Subnets, Subnet{ID: s.SubnetID, Zone: s.AvailabilityZone, Free: s.AvailableIPAddressCount, Tags: tags(s.Tags)})
	}
	for _, g := range d.SecurityGroups {
		r.account.SecurityGroups = append(r.account.SecurityGroups, SecurityGroup{ID: g.GroupID, Name: g.GroupName, Tags: tags(g.Tags)})
	}
	for _, c := range d.CapacityReservations {
		if c.State == "active" && c.InstanceMatchCriteria == "open" && c.ReservationType != "capacity-block" && !c.Interruptible {
			r.account.Reservations = append(r.account.Reservations, Reservation{
				ID: c.CapacityReservationID, Type: c.InstanceType, Zone: c.AvailabilityZone,
				Free: c.AvailableInstanceCount, Total: c.TotalInstanceCount, Tags: tags(c.Tags),
			})
		}
	}
	for _, e := range d.EvaluationResults {
		// What depends on tags of the request was not decided.
		if e.EvalDecision != "allowed" && len(e.MissingContextValues) == 0 {
			r.account.Denied = append(r.account.Denied, Denial{Action: e.EvalActionName, Resource: e.EvalResourceName, Explicit: e.EvalDecision == "explicitDeny"})
		}
	}
	if d.Attributes != nil {
		r.queues = append(r.queues, d.Attributes)
	}
	return errors.Join(r.identities(&d), r.patterns(&d))
}

// identities adds roles and profiles.
func (r *reading) identities(d *document) error {
	if d.Role != nil {
		r.roles = append(r.roles, *d.Role)
	}
	r.roles = append(append(r.roles, d.Roles...), d.RoleDetailList...)
	profiles := d.InstanceProfiles
	if d.InstanceProfile != nil {
		profiles = append(profiles, *d.InstanceProfile)
	}
	for _, x := range d.RoleDetailList {
		profiles = append(profiles, x.InstanceProfileList...)
	}
	for _, p := range profiles {
		made := Profile{Name: p.InstanceProfileName}
		for _, x := range p.Roles {
			made.Roles = append(made.Roles, x.RoleName)
		}
		r.account.Profiles = append(r.account.Profiles, made)
	}
	whole := !d.IsTruncated
	r.account.AllRoles = r.account.AllRoles || whole && len(d.Roles)+len(d.RoleDetailList) > 0
	r.account.AllProfiles = r.account.AllProfiles || whole && len(d.RoleDetailList)+len(d.InstanceProfiles) > 0
	if d.AttachedPolicies == nil {
		return nil
	}
	if len(r.roles) == 0 {
		return errors.New("AttachedPolicies: it is not said of which role; put what get-role prints before it")
	}
	r.roles[len(r.roles)-1].AttachedManagedPolicies = d.AttachedPolicies
	return nil
}

func (r *reading) patterns(d *document) error {
	for i, rule := range d.Rules {
		if rule.EventPattern == "" || rule.State == "DISABLED" {
			continue
		}
		var p Pattern
		if err := decode.JSON([]byte(rule.EventPattern), &p); err != nil {
			return fmt.Errorf("Rules[%d].EventPattern: %w", i, err)
		}
		r.rules = append(r.rules, p)
	}
	return nil
}

func tags(list []tag) map[string]string {
	out := make(map[string]string, len(list))
	for _, t := range list {
		out[t.Key] = t.Value
	}
	return out
}

func (r *reading) told() (Told, error) {
	out := Told{Account: r.account}
	for _, x := range r.roles {
		made, err := x.made()
		if err != nil {
			return Told{}, fmt.Errorf("role %s: %w", x.RoleName, err)
		}
		out.Account.Roles = append(out.Account.Roles, made)
	}
	for _, attributes := range r.queues {
		q, err := queueOf(attributes)
		if err != nil {
			return Told{}, err
		}
		if r.rules != nil {
			q.Kinds = Heard(r.rules)
		}
		out.Queues = append(out.Queues, q)
	}
	return out, nil
}

// made is a role as checks see it.
func (x role) made() (Role, error) {
	out := Role{Name: x.RoleName}
	if x.AttachedManagedPolicies != nil {
		out.Policies, out.Others = []string{}, len(x.RolePolicyList) > 0
	}
	for _, p := range x.AttachedManagedPolicies {
		name, ofAWS := strings.CutPrefix(p.PolicyARN, "arn:"+x.partition()+":iam::aws:policy/")
		if !ofAWS {
			out.Others = true
			continue
		}
		out.Policies = append(out.Policies, name)
	}
	document, err := policyOf(x.AssumeRolePolicyDoc)
	if err != nil {
		return out, fmt.Errorf("AssumeRolePolicyDocument: %w", err)
	}
	if document != nil {
		out.Trusts = Trusted(document)
	}
	out.Attach, out.Trust = x.attach, x.trust(document)
	return out, nil
}

func (x role) partition() string {
	if parts := strings.Split(x.ARN, ":"); len(parts) > 1 {
		return parts[1]
	}
	return "aws"
}

// policyOf reads a policy, which the CLI prints as it is and the API in percent encoding.
func policyOf(raw json.RawMessage) (map[string]any, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		plain, err := url.PathUnescape(text)
		if err != nil {
			return nil, err
		}
		raw = json.RawMessage(plain)
	}
	var out map[string]any
	if len(raw) == 0 || text == "" && raw[0] == '"' {
		return nil, nil
	}
	return out, decode.JSON(raw, &out)
}

// Trusted are the services that a policy lets take a role.
func Trusted(document map[string]any) []string {
	out := []string{}
	statements, _ := document["Statement"].([]any)
	for _, s := range statements {
		statement, _ := s.(map[string]any)
		principal, _ := statement["Principal"].(map[string]any)
		if statement["Effect"] != "Allow" {
			continue
		}
		switch service := principal["Service"].(type) {
		case string:
			out = append(out, service)
		case []any:
			for _, x := range service {
				if name, ok := x.(string); ok {
					out = append(out, name)
				}
			}
		}
	}
	return out
}
