package fleet

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
)

// Doubt is how long a machine whose launch was certainly asked for, and may have failed, is
// looked for before it is asked for again. EC2 shows new machines within seconds as a rule.
const Doubt = time.Minute

// Limits of one CreateFleet.
const (
	// maxTypes is how many instance types a wave names, as in Karpenter.
	maxTypes = 60
	// maxOverrides and maxTemplates are EC2's own limits.
	maxOverrides = 300
	maxTemplates = 50
)

// Wave is what one CreateFleet asks for: choices of one capacity type, best first.
type Wave struct {
	// CapacityType is spot, on-demand or reserved.
	CapacityType string
	// Reservation is the one that all choices come from, empty unless reserved.
	Reservation string
	Choices     []catalog.Choice
}

// Source is where the capacity of a wave comes from.
type Source struct{ CapacityType, Reservation string }

// Source is the wave's.
func (w *Wave) Source() Source { return Source{w.CapacityType, w.Reservation} }

// Waves puts choices into the order in which EC2 is asked for them: the capacity type of
// the best choice first, whole. A fleet has one capacity type, and one reservation. Spot
// that costs more than the cheapest on-demand choice is left out where there is one: it is
// worth less and lasts no longer.
func Waves(choices []catalog.Choice) []Wave {
	cheapest, mixed := onDemandFloor(choices)
	var out []Wave
	for _, c := range choices {
		o := c.Offering
		if o.CapacityType == catalog.Spot && mixed && o.Price > cheapest {
			continue
		}
		i := slices.IndexFunc(out, func(w Wave) bool { return w.CapacityType == o.CapacityType && w.Reservation == o.Reservation })
		if i < 0 {
			out, i = append(out, Wave{CapacityType: o.CapacityType, Reservation: o.Reservation}), len(out)
		}
		out[i].add(c)
	}
	return out
}

func onDemandFloor(choices []catalog.Choice) (price float64, any bool) {
	for _, c := range choices {
		if c.Offering.CapacityType == catalog.OnDemand && (!any || c.Offering.Price < price) {
			price, any = c.Offering.Price, true
		}
	}
	return price, any
}

func (w *Wave) add(c catalog.Choice) {
	if len(w.Choices) >= maxOverrides || slices.ContainsFunc(w.Choices, func(have catalog.Choice) bool { return have.Key() == c.Key() }) {
		return
	}
	if !slices.ContainsFunc(w.Choices, func(have catalog.Choice) bool { return have.Type.Name == c.Type.Name }) && w.types() >= maxTypes {
		return
	}
	w.Choices = append(w.Choices, c)
}

func (w *Wave) types() int {
	seen := map[string]bool{}
	for _, c := range w.Choices {
		seen[c.Type.Name] = true
	}
	return len(seen)
}

// Within is the wave with as many launch templates as one CreateFleet takes: choices that would
// need another are left out.
func (w *Wave) Within(template func(catalog.Choice) string) Wave {
	out, names := *w, map[string]bool{}
	out.Choices = slices.DeleteFunc(slices.Clone(w.Choices), func(c catalog.Choice) bool {
		name := template(c)
		if len(names) == maxTemplates && !names[name] {
			return true
		}
		names[name] = true
		return false
	})
	return out
}

// Keys are the offerings of a wave in a zone; empty is every zone.
func (w *Wave) Keys(zone string) []catalog.Key {
	var out []catalog.Key
	for _, c := range w.Choices {
		if zone == "" || c.Offering.Zone == zone {
			out = append(out, c.Key())
		}
	}
	return out
}

// Zones are those of a wave's choices, in order of their first.
func (w *Wave) Zones() []string {
	var out []string
	for _, c := range w.Choices {
		if !slices.Contains(out, c.Offering.Zone) {
			out = append(out, c.Offering.Zone)
		}
	}
	return out
}

// Find is the choice that was delivered.
func (w *Wave) Find(typeName, zone string) (catalog.Choice, bool) {
	i := slices.IndexFunc(w.Choices, func(c catalog.Choice) bool { return c.Type.Name == typeName && c.Offering.Zone == zone })
	if i < 0 {
		return catalog.Choice{}, false
	}
	return w.Choices[i], true
}

// Token is the ClientToken of an attempt: the claim's UID for the first.
func Token(uid string, attempt int) string {
	if attempt == 0 {
		return uid
	}
	return uid + "-" + strconv.Itoa(attempt)
}

// Request is a CreateFleet of type instant for one machine.
type Request struct {
	Token        string
	CapacityType string
	// Target is how EC2 calls the capacity: spot, on-demand, capacity-block, or
	// reserved-capacity for a reservation that can be interrupted.
	Target string
	// Strategy is how EC2 chooses among the overrides; empty for capacity blocks.
	Strategy string
	Configs  []Config
	// Tags are put on the instance, its volumes and the fleet.
	Tags map[string]string
	// Context is EC2NodeClass spec.context.
	Context string
}

// Config is a launch template, by name, and the ways to launch it.
type Config struct {
	Template  string
	Overrides []Override
}

// Override is one offering.
type Override struct {
	Type, Zone, Subnet, Image string
	// Priority orders them, the lowest first.
	Priority float64
}

// Strategies and targets, in EC2's words.
const (
	// PriceCapacity takes spot pools that are cheap and deep: of the cheap ones, those that
	// are reclaimed least.
	PriceCapacity = "price-capacity-optimized"
	// CapacityPrioritized takes spot pools that are deep, and goes by the priorities among
	// them: EC2 does not know what an overlay makes of prices.
	CapacityPrioritized = "capacity-optimized-prioritized"
	// Prioritized goes by the priorities.
	Prioritized = "prioritized"

	// CapacityBlock and ReservedCapacity are targets.
	CapacityBlock    = "capacity-block"
	ReservedCapacity = "reserved-capacity"
)

// Parts is what a request is made of besides the wave.
type Parts struct {
	Token string
	// Template names the launch template of a choice, Image is what it starts.
	Template, Image func(catalog.Choice) string
	// Subnet is that of a zone; a choice in a zone without one is left out.
	Subnet  map[string]string
	Tags    map[string]string
	Context string
	// Kind is the reservation's, default or capacity-block, and Interruptible whether EC2
	// may take it back; for a reserved wave.
	Kind          string
	Interruptible bool
}

// New is the request for a wave. The same wave and parts give the same request: overrides
// are in the order of the choices and numbered so.
func New(w *Wave, p Parts) Request {
	r := Request{Token: p.Token, CapacityType: w.CapacityType, Target: w.CapacityType, Strategy: Prioritized, Tags: p.Tags, Context: p.Context}
	switch {
	case w.CapacityType == catalog.Spot && slices.ContainsFunc(w.Choices, func(c catalog.Choice) bool { return c.Offering.PricedBy != "" }):
		r.Strategy = CapacityPrioritized
	case w.CapacityType == catalog.Spot:
		r.Strategy = PriceCapacity
	case w.CapacityType != catalog.Reserved:
	case p.Interruptible:
		r.Target = ReservedCapacity
	case p.Kind == CapacityBlock:
		r.Target, r.Strategy = CapacityBlock, ""
	default:
		r.Target = catalog.OnDemand
	}
	for n, c := range w.Choices {
		subnet, ok := p.Subnet[c.Offering.Zone]
		if !ok {
			continue
		}
		template := p.Template(c)
		i := slices.IndexFunc(r.Configs, func(have Config) bool { return have.Template == template })
		if i < 0 {
			r.Configs, i = append(r.Configs, Config{Template: template}), len(r.Configs)
		}
		r.Configs[i].Overrides = append(r.Configs[i].Overrides, Override{
			Type: c.Type.Name, Zone: c.Offering.Zone, Subnet: subnet, Image: p.Image(c), Priority: float64(n),
		})
	}
	slices.SortStableFunc(r.Configs, func(a, b Config) int { return cmp.Compare(a.Template, b.Template) })
	return r
}

// Answer is what CreateFleet says.
type Answer struct {
	Fleet string
	// Instance is what was launched; its ID is empty if nothing was.
	Instance Launched
	Failures []Failure
}

// Launched is one instance as CreateFleet knows it.
type Launched struct{ ID, Type, Zone, Subnet, Image string }
