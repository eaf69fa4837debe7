package account

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// spotRole is the role by which EC2 launches spot instances in an account.
const spotRole = "AWSServiceRoleForEC2Spot"

// nodePolicies are the policies that a node's role has to have one of each of. That of the network is
// not among them: its agent may have a role of its own.
var nodePolicies = [][]string{
	{"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy"},
	{"AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess"},
}

// RolesThatAreUnusable are those of classes with which no instance starts or joins.
func RolesThatAreUnusable(a *Account, classes []*awsv1.EC2NodeClass) []finding.Finding {
	var out []finding.Finding
	for _, c := range classes {
		field, name := "spec.role", c.Spec.Role
		if c.Spec.InstanceProfile != nil {
			field = "spec.instanceProfile"
			i := slices.IndexFunc(a.Profiles, func(p Profile) bool { return p.Name == *c.Spec.InstanceProfile })
			switch {
			case i >= 0 && len(a.Profiles[i].Roles) > 0:
				name = a.Profiles[i].Roles[0]
			case i >= 0:
				out = append(out, unusable(c, field, "is "+*c.Spec.InstanceProfile+", which holds no role: instances have no credentials and do not join", "add the node role to it", nil))
				continue
			case a.AllProfiles:
				out = append(out, unusable(c, field, "is "+*c.Spec.InstanceProfile+", which is not there or holds no role: nothing is launched of the class", "name one that there is, or use spec.role", nil))
				continue
			}
		}
		i := slices.IndexFunc(a.Roles, func(r Role) bool { return r.Name == name })
		switch {
		case name == "":
		case i >= 0:
			out = append(out, a.Roles[i].faults(c, field)...)
		case a.AllRoles:
			out = append(out, unusable(c, field, "is "+name+", a role that is not there: nothing is launched of the class", "name one that there is", nil))
		}
	}
	return out
}

func unusable(c *awsv1.EC2NodeClass, field, message, advice string, fix *finding.Fix) finding.Finding {
	return finding.Finding{Severity: finding.Error, Object: classRef(c), Field: field, Message: message, Advice: advice, Fix: fix}
}

// faults are what a class's role lacks.
func (r Role) faults(c *awsv1.EC2NodeClass, field string) []finding.Finding {
	var out []finding.Finding
	if r.Trusts != nil && !slices.ContainsFunc(r.Trusts, func(s string) bool { return strings.HasPrefix(s, "ec2.amazonaws.com") }) {
		out = append(out, unusable(c, field, "is "+r.Name+", which does not trust ec2.amazonaws.com: instances get no credentials and do not join", "let EC2 take the role", r.Trust("ec2.amazonaws.com")))
	}
	if r.Policies == nil || r.Others {
		return out
	}
	var lacks []string
	for _, one := range nodePolicies {
		if !slices.ContainsFunc(one, func(name string) bool { return slices.Contains(r.Policies, name) }) {
			lacks = append(lacks, one[0])
		}
	}
	if len(lacks) > 0 {
		out = append(out, unusable(c, field, fmt.Sprintf("is %s, which lacks %s: kubelets cannot ask for what they need, and no node becomes ready", r.Name, strings.Join(lacks, " and ")), "attach what is missing", r.Attach(lacks)))
	}
	return out
}

// SpotRoleMissing is of pools that may launch spot instances in an account that never had one.
func SpotRoleMissing(a *Account, pools []*karpv1.NodePool) []finding.Finding {
	if !a.AllRoles || slices.ContainsFunc(a.Roles, func(r Role) bool { return r.Name == spotRole }) {
		return nil
	}
	var out []finding.Finding
	for _, np := range pools {
		ref := np.Spec.Template.Spec.NodeClassRef
		if ref == nil || ref.Kind != "EC2NodeClass" || !asksForSpot(np) {
			continue
		}
		out = append(out, finding.Finding{
			Severity: finding.Error, Object: plan.ObjectRef{Kind: "NodePool", Name: np.Name}, Field: "spec.template.spec.requirements",
			Message: "allow spot instances, and the account has no role " + spotRole + ": each launch of one is refused (AuthFailure.ServiceLinkedRoleCreationNotPermitted)",
			Advice:  "create the role once for the account",
			Fix:     &finding.Fix{Form: "AWS CLI", Do: "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"},
		})
	}
	return out
}

// asksForSpot reports whether a pool names spot; one that says nothing of it launches none.
func asksForSpot(np *karpv1.NodePool) bool {
	return slices.ContainsFunc(np.Spec.Template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == karpv1.CapacityTypeLabelKey && r.Operator == corev1.NodeSelectorOpIn && slices.Contains(r.Values, karpv1.CapacityTypeSpot)
	})
}

// PermissionsThatAreDenied are those of the controller that a simulation refused.
func PermissionsThatAreDenied(a *Account) []finding.Finding {
	var out []finding.Finding
	for _, d := range a.Denied {
		f := finding.Finding{Severity: finding.Error, Object: d.ref(), Field: "EvalDecision", Advice: "allow it by a statement of the controller's policy, such as those in deploy/iam"}
		f.Message = fmt.Sprintf("is implicitDeny for %s: no statement allows it, and what needs it fails", d.Resource)
		if d.Explicit {
			f.Message = fmt.Sprintf("is explicitDeny for %s: a statement, a boundary or a policy of the organization forbids it, and what needs it fails", d.Resource)
			f.Advice = "take the denial away; allowing it elsewhere does not help"
		}
		out = append(out, f)
	}
	return out
}
