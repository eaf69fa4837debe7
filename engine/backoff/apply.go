package backoff

import (
	"maps"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Apply is the pool as it may launch now: not at all while it pauses, one machine
// at a time while it is on trial, and nothing of the images and offerings that
// pause. Of an image that is on trial one machine may start at a time, and nothing
// is planned with it meanwhile; a pool on trial tries the images first that failed
// least. Resources are on trial as images are; for those that pause see [PauseWorkloads]. Types
// whose Nodes did not have a resource are without it while another type has it.
// Nodes are the cluster's. The pool that is passed in stays as it is.
func Apply(p *snapshot.Pool, nodes []*snapshot.Node, now time.Time) *snapshot.Pool {
	p = spare(refuse(p, now))
	pauses := Pauses(p, now)
	if len(pauses) == 0 {
		return p
	}
	out := *p
	var images, offerings []string
	for _, pause := range pauses {
		active := now.Before(pause.Until)
		switch {
		case pause.Pool && active && out.NotReady == "":
			out.NotReady = Reason(p.Name, pause, now).Message()
		case pause.Pool:
			out.OnTrial = out.OnTrial || !active
		case pause.Image != "" && (active || starting(p, nodes, func(c *snapshot.Claim) bool { return imageOf(p, c) == pause.Image })):
			images = append(images, pause.Image)
		case pause.Image != "":
			out.TrialImages = append(out.TrialImages, pause.Image)
		case pause.Resource != "":
			if !held(p, nodes, pause, now) {
				out.TrialResources = append(out.TrialResources, pause.Resource)
			}
		case active:
			offerings = append(offerings, pause.Offering)
		}
	}
	if out.OnTrial {
		images = append(images, suspects(p)...)
	}
	out.Types = without(p.Types, images, offerings)
	return &out
}

// spare takes resources from the types whose Nodes did not have them, as long as others are left.
func spare(p *snapshot.Pool) *snapshot.Pool {
	types := p.Types
	for _, f := range p.Failures {
		left := func(t *catalog.Type) bool {
			q := t.Capacity[f.Resource]
			return !q.IsZero() && !slices.Contains(f.Types, t.Name) && p.Permits(t) && slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Available })
		}
		if len(f.Types) == 0 || !slices.ContainsFunc(p.Types, left) {
			continue
		}
		types = slices.Clone(types)
		for i, t := range types {
			if slices.Contains(f.Types, t.Name) {
				without := *t
				without.Capacity = maps.Clone(t.Capacity)
				delete(without.Capacity, f.Resource)
				types[i] = &without
			}
		}
	}
	if len(types) == 0 || &types[0] == &p.Types[0] {
		return p
	}
	out := *p
	out.Types = types
	return &out
}

// usable are the images that machines of a pool may be started from now.
func usable(p *snapshot.Pool) []string {
	var out []string
	for _, t := range p.Types {
		if t.Image == "" || slices.Contains(out, t.Image) {
			continue
		}
		if p.Permits(t) && slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Available }) {
			out = append(out, t.Image)
		}
	}
	return out
}

// suspects are the images of a pool that failed more often than another one.
func suspects(p *snapshot.Pool) []string {
	failed := func(image string) int {
		for _, f := range p.Failures {
			if f.Image == image {
				return f.Count
			}
		}
		return 0
	}
	images := usable(p)
	least := 0
	for i, image := range images {
		if n := failed(image); i == 0 || n < least {
			least = n
		}
	}
	return slices.DeleteFunc(images, func(image string) bool { return failed(image) == least })
}

// starting reports whether a machine of the pool of some kind is not initialized yet, those that are
// retained among them.
func starting(p *snapshot.Pool, nodes []*snapshot.Node, is func(*snapshot.Claim) bool) bool {
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool {
		return n.Pool() == p.Name && n.Claim != nil && !n.Deleting() && !n.Initialized() && is(n.Claim)
	})
}

// imageOf is what a claim's machine was started from, or will be.
func imageOf(p *snapshot.Pool, c *snapshot.Claim) string {
	if c.ProviderID != "" {
		return c.Image
	}
	planned, err := lifecycle.ParsePlanned(c.Annotations[lifecycle.PlannedAnnotation])
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(p.Types, func(t *catalog.Type) bool { return t.Name == planned.Type })
	if i < 0 {
		return ""
	}
	return p.Types[i].Image
}

// without marks what is of the images and offerings as not available.
func without(types []*catalog.Type, images, offerings []string) []*catalog.Type {
	if len(images)+len(offerings) == 0 {
		return types
	}
	hidden := func(t *catalog.Type, o catalog.Offering) bool {
		return slices.Contains(images, t.Image) || slices.Contains(offerings, lifecycle.FormatPlanned(o.Key(t.Name)))
	}
	out := slices.Clone(types)
	for i, t := range types {
		if !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return hidden(t, o) }) {
			continue
		}
		changed := *t
		changed.Offerings = slices.Clone(t.Offerings)
		for j, o := range changed.Offerings {
			changed.Offerings[j].Available = o.Available && !hidden(t, o)
		}
		out[i] = &changed
	}
	return out
}
