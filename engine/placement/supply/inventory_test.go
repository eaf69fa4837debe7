package supply

import (
	"runtime"
	"testing"

	"github.com/millwright-dev/millwright/engine/catalog"
)

func TestTheCacheKeepsWhatIsInUseAndForgetsGarbage(t *testing.T) {
	var c Cache
	used := []*catalog.Type{{Name: "used"}}
	known := c.inventory(used)
	for range 10 {
		c.inventory([]*catalog.Type{{Name: "refused"}})
	}
	runtime.GC()
	c.inventory([]*catalog.Type{{Name: "new"}})
	if len(c.made) != 2 {
		t.Errorf("%d lists are kept, want 2: that in use, and the new one", len(c.made))
	}
	if c.inventory(used) != known {
		t.Error("what was found out about a list in use was forgotten")
	}
}
