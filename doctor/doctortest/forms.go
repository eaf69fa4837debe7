// Package doctortest says in which forms of inventory each check of package doctor can show. The
// tests of each form take their checks from here, and want of each a failing fixture that is
// found, a passing one that is not, and a fix that mends the former.
package doctortest

import (
	"slices"

	"github.com/millwright-dev/millwright/doctor"
)

// Form is where an inventory comes from.
type Form string

// All that package doctor and those below it read. Objects are those of manifests and of a live
// cluster, of which the sandbox's tests try the commands.
const (
	Objects       Form = "objects"
	Dump          Form = "dump"
	Chart         Form = "chart with values"
	Release       Form = "stored release"
	Plan          Form = "Terraform plan"
	State         Form = "Terraform state"
	Addon         Form = "EKS add-on"
	Account       Form = "account"
	AccountInPlan Form = "account in a Terraform plan"
)

// Forms are all of them.
func Forms() []Form {
	return []Form{Objects, Dump, Chart, Release, Plan, State, Addon, Account, AccountInPlan}
}

// ofAddons are the checks of what add-ons run. Others are of kinds that no add-on that is known
// has, or of fields that its configuration does not reach.
var ofAddons = []string{
	"agent-ends-early", "agent-leaves-early", "agent-shut-out", "attach-limit-fixed", "controller-never-moves", "nowhere-to-run",
	"pdb-allows-none", "single-replica", "startup-taint-missing", "startup-taint-stays",
}

// dropped is the check of what an API server drops: a cluster does not have it.
const dropped = "field-unknown"

// ofResources are the checks of an account that Terraform's resources show.
var ofResources = []string{"queue-deaf", "queue-forgets", "queue-open", "role-unusable"}

// Checks are those that a form can show, in order.
func Checks(f Form) []string {
	objects := doctor.OfObjects()
	switch f {
	case Addon:
		return ofAddons
	case AccountInPlan:
		return ofResources
	case Dump:
		return slices.DeleteFunc(objects, func(check string) bool { return check == dropped })
	case Account:
		return slices.DeleteFunc(doctor.Checks(), func(check string) bool { return slices.Contains(objects, check) })
	}
	return objects
}
