package awstest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/ec2access"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/policy"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
	"github.com/millwright-dev/millwright/cloud/aws/sqstest"
)

// guard holds calls against policies. It is safe for concurrent use.
type guard struct {
	mu       sync.Mutex
	caller   string
	policies policy.Policies
	on       bool
	granted  map[string]Grant
	refused  uint64 // calls
}

// Grant is an access, and the statement that has allowed it.
type Grant struct {
	Sid    string
	Access policy.Access
}

// SetPolicies has every call of an access key be allowed by one of some policy documents from
// now on; without any, everything is allowed again. Calls of other keys are always allowed.
// Errors: what of a document is not understood.
func (c *Cloud) SetPolicies(caller string, documents ...string) error {
	parsed, err := policy.Parse(documents...)
	if err != nil {
		return err
	}
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	c.guard.caller, c.guard.policies, c.guard.on, c.guard.granted = caller, parsed, len(documents) > 0, map[string]Grant{}
	return nil
}

// Granted is what has been allowed since SetPolicies, each once.
func (c *Cloud) Granted() []Grant {
	c.guard.mu.Lock()
	defer c.guard.mu.Unlock()
	var out []Grant
	for _, key := range slices.Sorted(maps.Keys(c.guard.granted)) {
		out = append(out, c.guard.granted[key])
	}
	return out
}

// Unused are the actions and the resources of policy documents that none of some grants has
// needed, in the documents' order. Errors: what of a document is not understood.
func Unused(grants []Grant, documents ...string) ([]string, error) {
	parsed, err := policy.Parse(documents...)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range parsed {
		s := &parsed[i]
		note := func(entry string, needs func(policy.Access) bool) {
			if !slices.ContainsFunc(grants, func(g Grant) bool { return g.Sid == s.Sid && needs(g.Access) }) {
				out = append(out, s.Sid+": "+entry)
			}
		}
		for _, action := range s.Action {
			note(action, func(a policy.Access) bool { return policy.Like(action, a.Action) })
		}
		for _, resource := range s.Resource {
			note(resource, func(a policy.Access) bool { return policy.Like(resource, a.Resource) })
		}
	}
	return out, nil
}

// denied is the first access that no statement allows a caller, nil if all are allowed.
func (g *guard) denied(caller string, list []policy.Access) *policy.Access {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.on || caller != g.caller {
		return nil
	}
	for i := range list {
		by, allowed := g.policies.Decide(list[i])
		if !allowed {
			return &list[i]
		}
		grant := Grant{by.Sid, list[i]}
		g.granted[fmt.Sprint(grant)] = grant // maps are printed in order
	}
	return nil
}

// encoded stands for what IAM alone can read of a refusal: no two are the same.
func (g *guard) encoded() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused++
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, g.refused)))
}

// authorize refuses a call that the policies do not allow, in its service's words.
func (c *Cloud) authorize(call *wire.Request) error {
	var wants []policy.Access
	switch call.Service.Name {
	case "ec2":
		wants = ec2access.Of(ec2access.Config{World: c.EC2, Account: c.config.Account, Role: c.IAM.RoleOf, Group: c.group}, call)
	case "iam", "sts":
		wants = c.IAM.Accesses(call)
	default:
		wants = []policy.Access{c.access(call)}
	}
	a := c.guard.denied(call.AccessKey, wants)
	if a == nil {
		return nil
	}
	e := &wire.Error{Code: "AccessDeniedException", Message: c.refusal(a), Status: http.StatusBadRequest}
	switch call.Service.Name {
	case "ec2":
		e.Code, e.Status = "UnauthorizedOperation", http.StatusForbidden
		e.Message = "You are not authorized to perform this operation. " + e.Message + ". Encoded authorization failure message: " + c.guard.encoded()
	case "iam", "sts":
		e.Code, e.Status = "AccessDenied", http.StatusForbidden
	case "eks", "arc-zonal-shift", "sqs":
		e.Status = http.StatusForbidden
	}
	return e
}

// group is the name of a placement group, by which IAM knows it.
func (c *Cloud) group(id string) string {
	g, err := c.EC2.Reserved.Group(id, "")
	if id == "" || err != nil {
		return ""
	}
	return g.GroupName
}

func (c *Cloud) refusal(a *policy.Access) string {
	return fmt.Sprintf("User: arn:aws:iam::%s:user/sandbox is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action",
		c.config.Account, a.Action, a.Resource, a.Action)
}

// access is what a call to one of the small services wants.
func (c *Cloud) access(call *wire.Request) policy.Access {
	a := policy.Access{Action: call.Service.Name + ":" + call.Operation.Name, Resource: "*", Keys: map[string][]string{"aws:RequestedRegion": {call.Region}}}
	text := func(key string) string { s, _ := call.Input[key].(string); return s }
	switch call.Service.Name {
	case "eks":
		a.Resource = fmt.Sprintf("arn:aws:eks:%s:%s:cluster/%s", c.config.Region, c.config.Account, text("name"))
	case "arc-zonal-shift":
		a.Keys["arc-zonal-shift:ResourceIdentifier"] = []string{text("resourceIdentifier")}
	case "sqs":
		a.Action = strings.TrimSuffix(a.Action, "Batch") // IAM knows batches by the name of the single action
		a.Resource = fmt.Sprintf("arn:aws:sqs:%s:%s:%s", c.config.Region, c.config.Account, sqstest.NameOf(call))
	case "ssm":
		account := c.config.Account
		if strings.HasPrefix(text("Name"), "/aws/service/") {
			account = ""
		}
		a.Resource = fmt.Sprintf("arn:aws:ssm:%s:%s:parameter/%s", c.config.Region, account, strings.TrimPrefix(text("Name"), "/"))
	}
	return a
}
