package requirement

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/engine/enginetest/property"
)

func TestNew(t *testing.T) {
	tests := []struct {
		key    string
		op     Operator
		values []string
		want   string // the requirement, or the error
	}{
		{"k", In, []string{"b", "a", "b"}, "k In [a b]"},
		{"k", In, nil, "key k: operator In needs at least one value"},
		{"k", NotIn, []string{"a"}, "k NotIn [a]"},
		{"k", Exists, nil, "k Exists"},
		{"k", DoesNotExist, nil, "k DoesNotExist"},
		{"k", Gt, []string{"3"}, "k Gte 4"},
		{"k", Gte, []string{"3"}, "k Gte 3"},
		{"k", Lt, []string{"3"}, "k Lte 2"},
		{"k", Lte, []string{"3"}, "k Lte 3"},
		{"k", Lt, []string{"0"}, "k In [] (contradictory: no value is left)"},
		{"k", Gt, []string{"9223372036854775807"}, "k In [] (contradictory: no value is left)"},
		{"k", Gt, nil, "key k: operator Gt needs exactly one value"},
		{"k", Gt, []string{"1", "2"}, "key k: operator Gt needs exactly one value"},
		{"k", Lt, []string{"many"}, `key k: operator Lt needs a non-negative integer, not "many"`},
		{"k", Gte, []string{"-1"}, `key k: operator Gte needs a non-negative integer, not "-1"`},
		{"k", "Like", []string{"a"}, `key k: unknown operator "Like"`},
		{"failure-domain.beta.kubernetes.io/zone", In, []string{"a"}, "topology.kubernetes.io/zone In [a]"},
		{"topology.ebs.csi.aws.com/zone", In, []string{"a"}, "topology.kubernetes.io/zone In [a]"},
		{"beta.kubernetes.io/arch", In, []string{"a"}, "kubernetes.io/arch In [a]"},
		{"beta.kubernetes.io/os", In, []string{"a"}, "kubernetes.io/os In [a]"},
		{"beta.kubernetes.io/instance-type", In, []string{"a"}, "node.kubernetes.io/instance-type In [a]"},
		{"failure-domain.beta.kubernetes.io/region", In, []string{"a"}, "topology.kubernetes.io/region In [a]"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.key, tt.op, tt.values), func(t *testing.T) {
			r, err := New(tt.key, tt.op, tt.values...)
			got := r.String()
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAndOfWrittenRequirements(t *testing.T) {
	tests := []struct {
		a, b Requirement
		want string
	}{
		{Must("k", In, "a", "b"), Must("k", In, "b", "c"), "k In [b]"},
		{Must("k", In, "a", "b"), Must("k", NotIn, "b", "c"), "k In [a]"},
		{Must("k", NotIn, "a"), Must("k", NotIn, "b"), "k NotIn [a b]"},
		{Must("k", NotIn, "a"), Must("k", Exists), "k Exists and k NotIn [a]"},
		{Must("k", DoesNotExist), Must("k", NotIn, "a"), "k DoesNotExist"},
		{Must("k", In, "3", "5", "x"), Must("k", Gt, "3"), "k In [5]"},
		{Must("k", Gt, "3"), Must("k", Lt, "9"), "k Gte 4 and k Lte 8"},
		{Must("k", Gt, "3"), Must("k", NotIn, "5"), "k Gte 4 and k NotIn [5]"},
	}
	for _, tt := range tests {
		if got := tt.a.And(tt.b).String(); got != tt.want {
			t.Errorf("%s and %s is %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestWhatCannotBeIsNotPossible(t *testing.T) {
	for _, r := range []Requirement{
		Must("k", In, "a").And(Must("k", In, "b")),
		Must("k", Gt, "5").And(Must("k", Lt, "3")),
		Must("k", Exists).And(Must("k", DoesNotExist)),
		Must("k", Gt, "9223372036854775807"),
	} {
		if r.Possible() {
			t.Errorf("%s is possible", r)
		}
	}
}

func TestTheLargerMinValuesWins(t *testing.T) {
	a, b := Must("k", Exists).WithMinValues(3), Must("k", In, "a", "b")
	if got := a.And(b).MinValues(); got != 3 {
		t.Errorf("min values are %d", got)
	}
	if got := b.WithMinValues(5).And(a).MinValues(); got != 5 {
		t.Errorf("min values are %d", got)
	}
}

// values are what requirements are tried on: those that are written, those next
// to bounds, and some that nobody mentions.
var values = []string{"0", "1", "2", "3", "4", "5", "6", "7", "a", "b", "c", "zz", "-1", "03", "99"}

func requirements(key string) *rapid.Generator[Requirement] {
	return rapid.Custom(func(t *rapid.T) Requirement {
		one := func() Requirement {
			op := rapid.SampledFrom([]Operator{In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte}).Draw(t, "operator")
			switch op {
			case In, NotIn:
				return Must(key, op, rapid.SliceOfN(rapid.SampledFrom(values[:11]), 1, 4).Draw(t, "values")...)
			case Exists, DoesNotExist:
				return Must(key, op)
			}
			return Must(key, op, fmt.Sprint(rapid.IntRange(0, 7).Draw(t, "bound")))
		}
		r := one()
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			r = r.And(one())
		}
		return r
	})
}

func TestAndIsTheIntersection(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		a, b := requirements("k").Draw(t, "a"), requirements("k").Draw(t, "b")
		and := a.And(b)
		for _, v := range values {
			if and.Has(v) != (a.Has(v) && b.Has(v)) {
				t.Errorf("%s has %s: %t; %s: %t, %s: %t", and, v, and.Has(v), a, a.Has(v), b, b.Has(v))
			}
		}
		if and.Absent() != (a.Absent() && b.Absent()) {
			t.Errorf("%s accepts a missing label: %t", and, and.Absent())
		}
	})
}

func TestAndIsCommutativeAndAssociative(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		a, b, c := requirements("k").Draw(t, "a"), requirements("k").Draw(t, "b"), requirements("k").Draw(t, "c")
		if x, y := a.And(b), b.And(a); x.String() != y.String() {
			t.Errorf("%s and %s", x, y)
		}
		if x, y := a.And(b).And(c), a.And(b.And(c)); x.String() != y.String() {
			t.Errorf("%s and %s", x, y)
		}
	})
}

func TestOverlapMeansThatSomeNodeSatisfiesBoth(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		a, b := requirements("k").Draw(t, "a"), requirements("k").Draw(t, "b")
		both := a.Absent() && b.Absent() || slices.ContainsFunc(values, func(v string) bool { return a.Has(v) && b.Has(v) })
		if both && !a.Overlaps(b) {
			t.Errorf("%s and %s share a value and do not overlap", a, b)
		}
		if a.Overlaps(b) != b.Overlaps(a) || a.Overlaps(b) != a.And(b).Possible() {
			t.Errorf("%s and %s: overlap is %t, reversed %t, the intersection %s is possible: %t", a, b, a.Overlaps(b), b.Overlaps(a), a.And(b), a.And(b).Possible())
		}
	})
}

func TestImpliesMeansThatNothingOnlyTheFirstAccepts(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		a, b := requirements("k").Draw(t, "a"), requirements("k").Draw(t, "b")
		counter := a.Absent() && !b.Absent() || slices.ContainsFunc(values, func(v string) bool { return a.Has(v) && !b.Has(v) })
		if a.Implies(b) && counter {
			t.Errorf("%s is said to imply %s", a, b)
		}
		if !a.And(b).Implies(a) || !a.Implies(a) {
			t.Errorf("%s and %s does not imply the first", a, b)
		}
	})
}

func TestWhatIsWrittenReadsBackTheSame(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		r := requirements("k").Draw(t, "r")
		if !r.Possible() {
			return
		}
		set, err := FromNodeSelectorTerm(r.NodeSelectorRequirements())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if v != "-1" && set.Get("k").Has(v) != r.Has(v) {
				t.Errorf("%s reads back as %s: they differ on %s", r, set, v)
			}
		}
		if set.Get("k").Absent() != r.Absent() {
			t.Errorf("%s reads back as %s: they differ on a missing label", r, set)
		}
	})
}

func TestASetMatchesLabelsThatSatisfyEveryKey(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		a, b := requirements("a").Draw(t, "a"), requirements("b").Draw(t, "b")
		labels := map[string]string{}
		for _, key := range []string{"a", "b"} {
			if rapid.Bool().Draw(t, key+" is set") {
				labels[key] = rapid.SampledFrom(values).Draw(t, key+" value")
			}
		}
		holds := func(r Requirement) bool {
			v, ok := labels[r.Key()]
			return ok && r.Has(v) || !ok && r.Absent()
		}
		s := NewSet(b, a)
		if got, want := s.Matches(labels), holds(a) && holds(b); got != want {
			t.Errorf("%s matches %v: %t", s, labels, got)
		}
		if _, conflict := FromLabels(labels).Conflict(s, nil); conflict == s.Matches(labels) {
			t.Errorf("%v conflicts with %s: %t", labels, s, conflict)
		}
	})
}

func TestSetsArePrintedInTheOrderOfTheirKeys(t *testing.T) {
	s := NewSet(Must("b", Exists), Must("a", In, "1")).And(NewSet(Must("b", NotIn, "x"), Must("c", Exists)))
	if got := s.String(); got != "a In [1], b Exists and b NotIn [x], c Exists" {
		t.Error(got)
	}
	if got := s.Without("a", "c").String(); got != "b Exists and b NotIn [x]" {
		t.Error(got)
	}
	if got := s.Get("missing").Operator(); got != Exists {
		t.Errorf("a missing key reads as %s", got)
	}
}

func TestAnOpenKeyConflictsWithNothing(t *testing.T) {
	node := NewSet(Must("zone", In, "a"))
	want := NewSet(Must("team", In, "x"))
	if key, conflict := node.Conflict(want, nil); !conflict || key != "team" {
		t.Errorf("conflict on %q: %t", key, conflict)
	}
	if _, conflict := node.Conflict(want, func(key string) bool { return key == "team" }); conflict {
		t.Error("an open key conflicts")
	}
}

func TestATermThatCannotBeReadIsAnError(t *testing.T) {
	if _, err := FromNodeSelectorTerm([]corev1.NodeSelectorRequirement{{Key: "k", Operator: "In"}}); err == nil {
		t.Error("In without values was accepted")
	}
}

func TestLongListsThatReadAlikeAreToldApart(t *testing.T) {
	a, b := Must("k", In, "1", "2", "3", "4", "5", "6", "7"), Must("k", In, "1", "2", "3", "4", "5", "8", "9")
	if a.String() != b.String() {
		t.Fatalf("%s and %s do not read alike any more", a, b)
	}
	if a.Exact() == b.Exact() || NewSet(a).Exact() == NewSet(b).Exact() {
		t.Errorf("both are %s", a.Exact())
	}
}
