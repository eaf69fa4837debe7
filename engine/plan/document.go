package plan

import (
	"encoding/json"
	"io"
	"math"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// APIVersion and Kind identify the JSON document of a plan.
const (
	APIVersion = "millwright.dev/v1alpha1"
	Kind       = "Plan"
)

// document is the plan as JSON. Fields are added, never changed.
type document struct {
	APIVersion        string          `json:"apiVersion"`
	Kind              string          `json:"kind"`
	NewNodes          []nodeDoc       `json:"newNodes"`
	Placements        []placementDoc  `json:"placements"`
	Unplaced          []unplacedDoc   `json:"unplaced"`
	Ignored           []unplacedDoc   `json:"ignored,omitempty"`
	Buffers           []bufferDoc     `json:"buffers,omitempty"`
	Relaxed           []relaxedDoc    `json:"relaxed,omitempty"`
	Disruptions       []disruptionDoc `json:"disruptions,omitempty"`
	Stays             []stayDoc       `json:"stays,omitempty"`
	TotalPricePerHour float64         `json:"totalPricePerHour"`
	LowerBoundPerHour float64         `json:"lowerBoundPerHour"`
	Stats             Stats           `json:"stats"`
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

// bufferDoc counts the chunks of a CapacityBuffer by where there is room for them.
type bufferDoc struct {
	Buffer   string      `json:"buffer"`
	Existing int         `json:"onExistingNodes"`
	New      int         `json:"onNewNodes"`
	Unplaced int         `json:"unplaced"`
	Reasons  []reasonDoc `json:"reasons,omitempty"`
}

// relaxedDoc is a preference that is not kept, and the pods that have it.
type relaxedDoc struct {
	reasonDoc
	Pods []string `json:"pods"`
}

type reasonDoc struct {
	Code    Code         `json:"code"`
	Message string       `json:"message"`
	Objects []ObjectRef  `json:"objects"`
	Field   string       `json:"field,omitempty"`
	Want    string       `json:"want,omitempty"`
	Have    string       `json:"have,omitempty"`
	With    []Constraint `json:"with,omitempty"`
	Nearest *Miss        `json:"nearest,omitempty"`
	Hint    string       `json:"hint,omitempty"`
}

// JSON writes the plan as one document, indented by two spaces and ended by a
// newline. Equal plans give equal bytes; prices are rounded to a millionth of a
// dollar.
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
		Stats: p.Stats,
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
	for _, s := range p.Buffers() {
		d.Buffers = append(d.Buffers, bufferDoc{s.Buffer.Namespace + "/" + s.Buffer.Name, s.Existing, s.New, s.Unplaced, reasonDocs(s.Reasons, map[*Reason][]reasonDoc{})})
	}
	for i := range p.Relaxed {
		d.Relaxed = append(d.Relaxed, p.Relaxed[i].document())
	}
	for i := range p.Disruptions {
		d.Disruptions = append(d.Disruptions, p.Disruptions[i].document())
	}
	for i := range p.Stays {
		d.Stays = append(d.Stays, p.Stays[i].document())
	}
	return d
}

func (n *NewNode) document() nodeDoc {
	out := nodeDoc{Pool: n.Pool, Pods: podNames(n.Pods), Alternatives: []choiceDoc{}}
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

// MarshalJSON writes a reason as it stands in a plan's document, with its message.
func (r Reason) MarshalJSON() ([]byte, error) { return json.Marshal(r.document()) }

func (r Reason) document() reasonDoc {
	objects := r.Objects
	if objects == nil {
		objects = []ObjectRef{}
	}
	return reasonDoc{
		Code: r.Code, Message: r.Message(), Objects: objects, Field: r.Field, Want: r.Want, Have: r.Have,
		With: r.With, Nearest: r.Nearest, Hint: r.Hint,
	}
}

func (x *Relaxed) document() relaxedDoc {
	return relaxedDoc{x.Reason.document(), podNames(x.Pods)}
}

func podNames(pods []*snapshot.Pod) []string {
	out := make([]string, len(pods))
	for i, p := range pods {
		out[i] = p.Namespace + "/" + p.Name
	}
	return out
}

func unplacedDocs(list []Unplaced) []unplacedDoc {
	out := make([]unplacedDoc, 0, len(list))
	known := map[*Reason][]reasonDoc{}
	for _, u := range list {
		out = append(out, unplacedDoc{Pod: u.Pod.Namespace + "/" + u.Pod.Name, Reasons: reasonDocs(u.Reasons, known)})
	}
	return out
}

// reasonDocs are made once for pods that share their reasons.
func reasonDocs(list []Reason, known map[*Reason][]reasonDoc) []reasonDoc {
	out := make([]reasonDoc, 0, len(list))
	if len(list) == 0 {
		return out
	}
	if same, ok := known[&list[0]]; ok {
		return same
	}
	for _, r := range list {
		out = append(out, r.document())
	}
	known[&list[0]] = out
	return out
}

// dollars rounds to a millionth, where sums of prices are exact enough not to
// show how they were added up.
func dollars(x float64) float64 { return math.Round(x*1e6) / 1e6 }
