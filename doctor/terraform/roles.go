package terraform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
)

// ofAWS parts the ARN of one of AWS's own policies.
const ofAWS = ":iam::aws:policy/"

type role struct {
	address string
	Name    string `json:"name"`
	Trust   string `json:"assume_role_policy"`
}

type attachment struct {
	Role   string `json:"role"`
	Policy string `json:"policy_arn"`
}

func (d *Document) role(r Resource) error {
	v := role{address: r.Address}
	if err := r.decode(&v); err != nil {
		return err
	}
	if v.Name != "" { // else it is not known before the apply which classes name it
		d.roles = append(d.roles, v)
	}
	return nil
}

func (d *Document) attachment(r Resource) error {
	var v attachment
	if err := r.decode(&v); err != nil {
		return err
	}
	d.attached = append(d.attached, v)
	return nil
}

// inline is a policy of a role's own.
func (d *Document) inline(r Resource) error {
	var v attachment
	if err := r.decode(&v); err != nil {
		return err
	}
	d.attached = append(d.attached, attachment{Role: v.Role})
	return nil
}

func (d *Document) profile(r Resource) error {
	var v struct {
		Name string `json:"name"`
		Role string `json:"role"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	if v.Name != "" && v.Role != "" {
		d.profiles = append(d.profiles, account.Profile{Name: v.Name, Roles: []string{v.Role}})
	}
	return nil
}

// Account is what the document says of roles and instance profiles.
func (d *Document) Account() (account.Account, error) {
	out, partition := account.Account{Profiles: d.profiles}, "arn:aws"
	for _, a := range d.attached {
		if before, _, known := strings.Cut(a.Policy, ofAWS); known {
			partition = before
		}
	}
	for _, r := range d.roles {
		made := account.Role{Name: r.Name}
		for _, a := range d.attached {
			if a.Role != r.Name {
				continue
			}
			_, name, known := strings.Cut(a.Policy, ofAWS)
			if !known {
				made.Others = true
				continue
			}
			made.Policies = append(made.Policies, name)
		}
		document := map[string]any{}
		if r.Trust != "" {
			if err := decode.JSON([]byte(r.Trust), &document); err != nil {
				return out, fmt.Errorf("%s: assume_role_policy: %w", r.address, err)
			}
			made.Trusts = account.Trusted(document)
		}
		made.Attach = attachFix(r.address, partition)
		made.Trust = func(service string) *doctor.Fix {
			return argument(r.address, "assume_role_policy", "jsonencode("+expression(account.Trusting(document, service), "  ")+")")
		}
		out.Roles = append(out.Roles, made)
	}
	return out, nil
}

// attachFix attaches policies of a partition, such as arn:aws-cn, to a role, beside its resource.
func attachFix(address, partition string) func(policies []string) *doctor.Fix {
	module, resource, key := split(address)
	if key != "" {
		resource += "[" + key + "]"
	}
	return func(policies []string) *doctor.Fix {
		arns := make([]any, len(policies))
		for i, name := range slices.Sorted(slices.Values(policies)) {
			arns[i] = partition + ofAWS + name
		}
		do := "add beside " + address
		if module != "" {
			do = "by the input of " + module + " for additional policies; in a module of your own, add beside " + resource
		}
		return &doctor.Fix{
			Form: "Terraform", Do: do, File: strings.TrimSuffix(fileOf(address), ".tf.txt") + "_policies.tf.txt",
			Text: fmt.Sprintf("resource \"aws_iam_role_policy_attachment\" \"node\" {\n  for_each   = toset(%s)\n  policy_arn = each.value\n  role       = %s.name\n}\n", expression(arns, "  "), resource),
		}
	}
}
