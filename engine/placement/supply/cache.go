package supply

import (
	"sync"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Cache keeps from one plan to the next the lists of instance types that clouds
// sell, in the form in which pools choose from them; what pools and pods make of
// them is found out for every plan. Plans are the same without. It goes by where a
// list is, so a changed list has to be another one. The zero value is empty. It is
// safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	made map[list]*inventory
}

// list is where a list of types is.
type list struct {
	first  **catalog.Type
	length int
}

// inventory finds that of a list, or makes it.
func (c *Cache) inventory(types []*catalog.Type) *inventory {
	if len(types) == 0 {
		return newInventory(nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := list{&types[0], len(types)}
	if known, ok := c.made[key]; ok {
		return known
	}
	if c.made == nil || len(c.made) >= mostKept {
		c.made = map[list]*inventory{}
	}
	made := newInventory(types)
	c.made[key] = made
	return made
}
