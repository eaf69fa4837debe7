// Package switches defines flags that take nothing but true and false, as Karpenter's.
package switches

import (
	"fmt"

	"github.com/spf13/pflag"
)

type boolean bool

// Add defines a switch.
func Add(flags *pflag.FlagSet, into *bool, name string, value bool, usage string) {
	*into = value
	flags.VarPF((*boolean)(into), name, "", usage).NoOptDefVal = "true"
}

// Set refuses 1, t, yes and the like.
func (b *boolean) Set(s string) error {
	if s != "true" && s != "false" {
		return fmt.Errorf("%q is not true or false", s)
	}
	*b = s == "true"
	return nil
}

// String is true or false.
func (b *boolean) String() string { return fmt.Sprint(bool(*b)) }

// Type is the flag's type; pflag knows a switch by it.
func (b *boolean) Type() string { return "bool" }
