package plan

import (
	"encoding/json"
	"io"
	"math"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// APIVersion and Kind identify the JSON document of a plan.
const (
	APIVersion = "millwright.dev/v1alpha1"
	Kind       = "Plan"
)

// document is the plan as JSON. Fields are added, never changed.
type document struct {
	APIVersion        string         `json:"apiVersion"`
	Kind              string         `json:"kind"`
	NewNodes          []nodeDoc      `json:"newNodes"`
	Placements        []placementDoc `json:"placements"`
	Unplaced          []unplacedDoc  `json:"unplaced"`
	Ignored           []unplacedDoc  `json:"ignored,omitempty"`
	TotalPricePerHour float64        `json:"totalPricePerHour"`
	LowerBoundPerHour float64        `json:"lowerBoundPerHour"`
	Stats             statsDoc       `json:"stats"`
}

type choiceDoc struct {
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"`
}

type nodeDoc struct {
	Pool string `json:"pool"`
	choiceDoc
	Pods []string `json:"pods"`
	// Alternatives names each type once for each capacity type, in the cheapest of
	// its zones.
	Alternatives []choiceDoc `json:"alternatives"`
}

type placementDoc struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

type unplacedDoc struct {
	Pod     string      `json:"pod"`
	Reasons []reasonDoc `json:"reasons"`
}

type reasonDoc struct {
	Code    Code        `json:"code"`
	Message string      `json:"message"`
	Objects []ObjectRef `json:"objects"`
}

type statsDoc struct {
	Pods         int     `json:"pods"`
	Classes      int     `json:"classes"`
	SolveSeconds float64 `json:"solveSeconds"`
}

// JSON writes the plan as one document, indented by two spaces and ended by a
// newline. Equal plans give equal bytes: prices are rounded to a millionth of a
// dollar, and the time that the plan took is written only if the caller measured
// it and set Stats.SolveSeconds, as the engine has no clock.
func (p *Plan) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(p.document())
}

func (p *Plan) document() document {
	d := document{
		APIVersion: APIVersion, Kind: Kind,
		NewNodes: []nodeDoc{}, Placements: []placementDoc{}, Unplaced: unplacedDocs(p.Unplaced),
		TotalPricePerHour: dollars(p.PricePerHour()), LowerBoundPerHour: dollars(p.LowerBound),
		Stats: statsDoc(p.Stats),
	}
	for i := range p.NewNodes {
		d.NewNodes = append(d.NewNodes, p.NewNodes[i].document())
	}
	for _, x := range p.Placements {
		d.Placements = append(d.Placements, placementDoc{Pod: x.Pod.Namespace + "/" + x.Pod.Name, Node: x.Node.Name})
	}
	if len(p.Ignored) > 0 {
		d.Ignored = unplacedDocs(p.Ignored)
	}
	return d
}

func (n *NewNode) document() nodeDoc {
	out := nodeDoc{Pool: n.Pool, Pods: []string{}, Alternatives: []choiceDoc{}}
	for _, p := range n.Pods {
		out.Pods = append(out.Pods, p.Namespace+"/"+p.Name)
	}
	seen := map[catalog.Key]bool{}
	for _, c := range n.Alternatives {
		// Zones of one price and one size tell a reader nothing new, and are most of
		// the list.
		if k := (catalog.Key{Type: c.Type.Name, CapacityType: c.Offering.CapacityType}); !seen[k] {
			seen[k] = true
			out.Alternatives = append(out.Alternatives, choice(c))
		}
	}
	out.choiceDoc = choice(n.Choice)
	return out
}

func choice(c catalog.Choice) choiceDoc {
	return choiceDoc{c.Type.Name, c.Offering.Zone, c.Offering.CapacityType, dollars(c.Offering.Price)}
}

func unplacedDocs(list []Unplaced) []unplacedDoc {
	out := []unplacedDoc{}
	for _, u := range list {
		d := unplacedDoc{Pod: u.Pod.Namespace + "/" + u.Pod.Name, Reasons: []reasonDoc{}}
		for _, r := range u.Reasons {
			objects := r.Objects
			if objects == nil {
				objects = []ObjectRef{}
			}
			d.Reasons = append(d.Reasons, reasonDoc{r.Code, r.Message(), objects})
		}
		out = append(out, d)
	}
	return out
}

// dollars rounds to a millionth, where sums of prices are exact enough not to
// show how they were added up.
func dollars(x float64) float64 { return math.Round(x*1e6) / 1e6 }
