package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// nodeRepair is Karpenter's gate for the repair of machines.
const nodeRepair = "NodeRepair"

// alwaysOn are gates of features that are not gated here.
var alwaysOn = []string{"ReservedCapacity", "StaticCapacity"}

// gates are Karpenter's feature gates: names and whether they are switched on, as in
// NodeRepair=true,NodeOverlay=false.
type gates struct {
	text  string
	names []string
	is    map[string]bool
}

func addGates(flags *pflag.FlagSet, into *gates) {
	flags.Var(into, "feature-gates", "Karpenter's feature gates, such as NodeRepair=true: machines are repaired also where no NodePolicy says how")
}

// Set reads the gates.
func (g *gates) Set(s string) error {
	g.text, g.names, g.is = s, nil, map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" && value == "" {
			continue
		}
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not a name with true or false, as in %s=true", part, nodeRepair)
		}
		g.names, g.is[name] = append(g.names, name), on
	}
	return nil
}

// String is the gates as they were written.
func (g *gates) String() string { return g.text }

// Type is the flag's type in the help.
func (g *gates) Type() string { return "string" }

func (g *gates) on(name string) bool { return g.is[name] }

// foreign are the gates that are on and cannot be switched here.
func (g *gates) foreign() []string {
	return slices.DeleteFunc(slices.Clone(g.names), func(name string) bool {
		return !g.is[name] || name == nodeRepair || slices.Contains(alwaysOn, name)
	})
}

// warn says which gates cannot be switched on here.
func (g *gates) warn(c console) {
	for _, name := range g.foreign() {
		c.warn("--feature-gates %s=true has no effect: that gate cannot be switched here", name)
	}
}
