// Package gates reads Karpenter's feature gates, and says which of them differ here.
package gates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Gates that can be switched here.
const (
	// NodeRepair is the gate for the repair of machines.
	NodeRepair = "NodeRepair"
	// NodeOverlay is the gate for NodeOverlays.
	NodeOverlay = "NodeOverlay"
	// CapacityBuffer is the gate for CapacityBuffers.
	CapacityBuffer = "CapacityBuffer"
	// TerminateFirstDrift is the gate for machines that go before their replacement is launched.
	TerminateFirstDrift = "TerminateFirstDrift"
	// PodDeletionCostManagement is the gate for deletion costs of pods, which ReplicaSets go by.
	PodDeletionCostManagement = "PodDeletionCostManagement"
	// NodeClassCEL is the gate of Karpenter's provider for AWS for expressions in an EC2NodeClass's
	// kubelet.
	NodeClassCEL = "NodeClassCEL"
	// RebootForRepair is the gate of Karpenter's provider for AWS for machines that are rebooted before
	// they are replaced.
	RebootForRepair = "RebootForRepair"
	// ReservedCapacity is the gate for the capacity reservations that EC2NodeClasses select.
	ReservedCapacity = "ReservedCapacity"
	// spotToSpot is the gate for spot machines that replace spot machines.
	spotToSpot = "SpotToSpotConsolidation"
)

// alwaysOn are gates of features that are on here.
var alwaysOn = []string{ReservedCapacity, "StaticCapacity", "TerminateFirstRepair", "DRANVIDIAGPU", spotToSpot}

// Gates are names and whether they are switched on, as in NodeRepair=true,NodeOverlay=false. It is
// a pflag.Value.
type Gates struct {
	switched []string
	text     string
	names    []string
	is       map[string]bool
}

// OfKarpenter are the gates of Karpenter itself.
func OfKarpenter() Gates {
	return Gates{switched: []string{NodeRepair, NodeOverlay, CapacityBuffer, TerminateFirstDrift, PodDeletionCostManagement}}
}

// OfAWS are the gates of Karpenter's provider for AWS.
func OfAWS() Gates { return Gates{switched: []string{NodeClassCEL, RebootForRepair}} }

// Set reads the gates.
func (g *Gates) Set(s string) error {
	g.text, g.names, g.is = s, nil, map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" && value == "" {
			continue
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not a name with true or false, as in %s=true", part, g.switched[0])
		}
		g.names, g.is[name] = append(g.names, name), on
	}
	return nil
}

// String is the gates as they were written.
func (g *Gates) String() string { return g.text }

// Type is the flag's type in the help.
func (g *Gates) Type() string { return "string" }

// On reports whether a gate is switched on.
func (g *Gates) On(name string) bool { return g.is[name] }

// Off reports whether a gate is switched off, not merely left out.
func (g *Gates) Off(name string) bool { return slices.Contains(g.names, name) && !g.is[name] }

// Foreign are the gates that are on and cannot be switched here.
func (g *Gates) Foreign() []string {
	return slices.DeleteFunc(slices.Clone(g.names), func(name string) bool {
		return !g.is[name] || slices.Contains(g.switched, name) || slices.Contains(alwaysOn, name)
	})
}

// Judge says what is otherwise here than with a Karpenter that has these gates, empty if
// nothing is.
func (g *Gates) Judge() string {
	var out []string
	for _, name := range g.Foreign() {
		out = append(out, name+" has no effect")
	}
	if g.Off(ReservedCapacity) {
		out = append(out, "classes that select capacity reservations use them all the same")
	}
	if g.Off(spotToSpot) {
		out = append(out, "spot machines are replaced by cheaper spot machines all the same, if that saves what spotToSpot of a NodePolicy asks, 20 % by default")
	}
	return strings.Join(out, "; ")
}
