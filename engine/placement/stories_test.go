package placement_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/engine/enginetest"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/placement"
)

func TestStories(t *testing.T) {
	storytest.Run(t, "testdata", func() storytest.World {
		s := &enginetest.Scenario{}
		return func(t *testing.T, c storytest.Command) string {
			switch {
			case c.Name == "begin":
				*s = enginetest.Scenario{}
			case c.Name == "solve":
				var out strings.Builder
				p := placement.Solve(&s.Snapshot, options(t, c))
				check(t, &s.Snapshot, p)
				_ = p.Table(&out)
				return out.String()
			case !s.Do(t, c):
				t.Fatalf("unknown command %s", c.Name)
			}
			return ""
		}
	})
}

// options reads preference=0.5, min-values=best-effort and min-types=5.
func options(t *testing.T, c storytest.Command) placement.Options {
	t.Helper()
	o := placement.Options{RelaxMinValues: c.Options["min-values"] == "best-effort"}
	if v, ok := c.Options["preference"]; ok {
		var err error
		if o.Preference, err = strconv.ParseFloat(v, 64); err != nil {
			t.Fatal(err)
		}
	}
	if v, ok := c.Options["min-types"]; ok {
		var err error
		if o.MinTypes, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	return o
}
