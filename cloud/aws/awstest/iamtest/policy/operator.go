package policy

import (
	"slices"
	"strings"
)

// operator compares what a condition wants with what a request has.
type operator struct {
	// fits compares one value of each.
	fits func(want, have string) bool
	// negated holds if no wanted value fits.
	negated bool
	// ifExists holds for a key that is not there; all if every value of a key is wanted, which
	// is so of one without any.
	ifExists, all bool
	// null asks whether the key is missing.
	null bool
}

func equal(want, have string) bool { return want == have }

// operators are those that are known, without ForAllValues, ForAnyValue and IfExists.
var operators = map[string]operator{
	"StringEquals":           {fits: equal},
	"StringNotEquals":        {fits: equal, negated: true},
	"StringEqualsIgnoreCase": {fits: strings.EqualFold},
	"StringLike":             {fits: Like},
	"StringNotLike":          {fits: Like, negated: true},
	"ArnEquals":              {fits: Like}, // as ArnLike
	"ArnLike":                {fits: Like},
	"Bool":                   {fits: strings.EqualFold},
	"Null":                   {null: true},
}

func operatorOf(name string) (operator, bool) {
	base, all := strings.CutPrefix(name, "ForAllValues:")
	base = strings.TrimPrefix(base, "ForAnyValue:")
	base, ifExists := strings.CutSuffix(base, "IfExists")
	o, ok := operators[base]
	o.all, o.ifExists = all, ifExists
	return o, ok
}

func (o *operator) holds(wanted, have []string) bool {
	switch {
	case o.null:
		return slices.Contains(wanted, "true") == (len(have) == 0)
	case len(have) == 0:
		return o.ifExists || o.all || o.negated
	}
	fits := func(value string) bool {
		return slices.ContainsFunc(wanted, func(want string) bool { return o.fits(want, value) }) != o.negated
	}
	if o.all || o.negated {
		return !slices.ContainsFunc(have, func(value string) bool { return !fits(value) })
	}
	return slices.ContainsFunc(have, fits)
}
