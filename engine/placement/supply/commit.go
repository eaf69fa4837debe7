package supply

import "github.com/millwright-dev/millwright/engine/plan"

// Commit charges machines that are planned with what their largest alternatives
// would take beyond the choices: what is launched from the pools after
// that cannot count on it.
func (m *Offerings) Commit(nodes []plan.NewNode) {
	for i := range nodes {
		for _, p := range m.Pools {
			if p.Name == nodes[i].Pool {
				p.commit(&nodes[i])
			}
		}
	}
}

func (p *Pool) commit(n *plan.NewNode) {
	planned := p.SizeOf(n.Choice.Type)
	for d := range planned {
		largest := planned[d]
		for _, a := range n.Alternatives {
			largest = max(largest, p.SizeOf(a.Type)[d])
		}
		p.Used[d] += largest - planned[d]
	}
}
