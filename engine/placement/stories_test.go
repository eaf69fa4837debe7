package placement_test

import (
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
				p := placement.Solve(&s.Snapshot, placement.Options{})
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
