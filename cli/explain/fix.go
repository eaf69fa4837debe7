package explain

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
)

// fixes says for each closed gate who has to open it, and the commands to look
// further.
func (m *Machine) fixes() []Fix {
	var out []Fix
	for _, g := range m.Step.Gates {
		if g.Open {
			continue
		}
		f := Fix{What: string(g.Name) + ": look further", Commands: m.commands(g)}
		if g.Next.Actor != "" {
			f.What = fmt.Sprintf("%s: %s has to act", g.Name, g.Next.Actor)
			if then := g.Next.String(); then != "" {
				f.What += "; otherwise " + then
			}
		}
		if g.Next.Actor != "" || len(f.Commands) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// commands help with a closed gate.
func (m *Machine) commands(g lifecycle.Gate) []string {
	node := m.Node
	switch g.Reason.Code {
	case plan.LaunchPending, plan.LaunchFailed, plan.NothingToLaunch:
		class := m.Claim.Class
		return []string{
			"kubectl describe nodeclaim " + m.Claim.Name,
			"kubectl describe " + strings.ToLower(class.Kind) + " " + class.Name + "   # what does the cloud refuse?",
		}
	case plan.NodeNotFound:
		return []string{"kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID   # is " + m.Claim.ProviderID + " among them?", "look at the machine's console: the kubelet has not joined"}
	case plan.NodeNotReady, plan.NodeConditionNotMet, plan.ResourceNotRegistered:
		return []string{"kubectl describe node " + node}
	case plan.StartupTaintsExist, plan.UndeclaredStartupTaint, plan.KnownEphemeralTaintsExist:
		return []string{
			"kubectl get pods -A --field-selector spec.nodeName=" + node + "   # is the taint's owner running?",
			"kubectl taint node " + node + " " + unvalued(g.Reason.Have) + "-   # if you know that its work is done",
		}
	case plan.StaleUninitializedTaint:
		return []string{
			"kubectl taint node " + node + " " + unvalued(g.Reason.Have) + "-",
			"NodePolicy: spec.initialization.staleUninitialized.action: Remove   # for all nodes to come",
		}
	case plan.CSIDriverNotRegistered:
		return []string{"kubectl get csinode " + node + " -o yaml", "kubectl get pods -A --field-selector spec.nodeName=" + node}
	case plan.DaemonSetNotReady:
		return []string{"kubectl get pods -A --field-selector spec.nodeName=" + node}
	case plan.DRADriverPoolsNotPublished:
		return []string{"kubectl get resourceslices --field-selector spec.nodeName=" + node}
	}
	return nil
}

// unvalued is a taint as kubectl wants it for removal: key:effect.
func unvalued(taint string) string {
	key, effect, _ := strings.Cut(taint, ":")
	key, _, _ = strings.Cut(key, "=")
	return key + ":" + effect
}
