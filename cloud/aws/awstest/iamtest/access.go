package iamtest

import (
	"path"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/policy"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// RoleOf is the ARN of an instance profile's role, empty without one. It takes a name or an
// ARN.
func (s *IAM) RoleOf(nameOrARN string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.profiles[path.Base(nameOrARN)]; p != nil && len(p.Roles) > 0 {
		return p.Roles[0].Arn
	}
	return ""
}

// Accesses lists what IAM is asked before a call is answered. Who creates a profile with tags
// needs the right to tag it, and who puts a role into one the right to pass it.
func (s *IAM) Accesses(r *wire.Request) []policy.Access {
	var in input
	_ = wire.Bind(r.Input, &in) // the handler refuses what does not fit
	s.mu.Lock()
	defer s.mu.Unlock()
	action := "iam:" + r.Operation.Name
	arn, has := s.arn("instance-profile", "/", in.InstanceProfileName), []tag(nil)
	if p := s.profiles[in.InstanceProfileName]; p != nil {
		arn, has = p.Arn, p.Tags
	}
	switch r.Operation.Name {
	case "GetCallerIdentity":
		return nil
	case "GetRole":
		return []policy.Access{{Action: action, Resource: s.arn("role", "/", in.RoleName)}}
	case "ListInstanceProfiles":
		return []policy.Access{{Action: action, Resource: s.arn("instance-profile", in.PathPrefix, "")}}
	case "CreateInstanceProfile":
		arn = s.arn("instance-profile", in.Path, in.InstanceProfileName)
		out := []policy.Access{{Action: action, Resource: arn, Keys: tagKeys(nil, in.Tags)}}
		if len(in.Tags) > 0 {
			out = append(out, policy.Access{Action: "iam:TagInstanceProfile", Resource: arn, Keys: tagKeys(in.Tags, in.Tags)})
		}
		return out
	case "AddRoleToInstanceProfile":
		return []policy.Access{
			{Action: action, Resource: arn, Keys: tagKeys(has, nil)},
			{Action: "iam:PassRole", Resource: s.arn("role", "/", in.RoleName), Keys: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}}},
		}
	}
	return []policy.Access{{Action: action, Resource: arn, Keys: tagKeys(has, in.Tags)}}
}

// tagKeys are the condition keys of what has some tags and is to get others.
func tagKeys(has, gets []tag) map[string][]string {
	out := map[string][]string{}
	for _, t := range has {
		out["aws:ResourceTag/"+t.Key] = []string{t.Value}
	}
	for _, t := range gets {
		out["aws:RequestTag/"+t.Key] = []string{t.Value}
		out["aws:TagKeys"] = append(out["aws:TagKeys"], t.Key)
	}
	return out
}
