package snapshot

import "slices"

// byVPA is the annotation of pods that a VerticalPodAutoscaler resizes in place. Its admission
// webhook gives pods that are made anew as much.
const byVPA = "vpaInPlaceUpdated"

// Follow says what the pod will ask for that comes in the place of one that is resized in place:
// what that was created with, where it was more. It takes that over from an earlier state of the
// pod, nil if there is none; of one that was resized before it was seen it is not known.
func (c *Classes) Follow(p, earlier *Pod) {
	switch {
	case earlier != nil && earlier.UID == p.UID:
		p.created = earlier.created
	case p.Generation <= 1: // the API server counts resizes
		p.created = p.Class.Requests
	}
	if p.Annotations[byVPA] == "true" {
		return
	}
	less := func(a Amount) bool { q := p.Class.Requests.Get(a.Name); return q.Cmp(a.Quantity) < 0 }
	if !slices.ContainsFunc(p.created, less) {
		return
	}
	requests := slices.Clone(p.Class.Requests)
	for _, a := range p.created {
		if less(a) {
			requests = requests.with(a.Name, a.Quantity)
		}
	}
	p.next = c.asking(p.Class, requests)
}

// asking is the class of the same pods with other requests.
func (c *Classes) asking(of *Class, requests Amounts) *Class {
	key := of.Key
	for _, a := range requests {
		key += "\x00" + string(a.Name) + " " + a.Quantity.String()
	}
	if known, ok := c.byKey[key]; ok {
		return known
	}
	class := &Class{Key: key, Requests: requests, Shape: of.Shape}
	c.byKey[key] = class
	return class
}

// Again is the pod as it is planned for another machine: itself, but for one that was resized.
func (p *Pod) Again() *Pod {
	if p.next == nil {
		return p
	}
	out := *p
	out.Class, out.next = p.next, nil
	return &out
}

// In is the pod in what becomes of its class.
func (p *Pod) In(becomes func(*Class) *Class) *Pod {
	out := *p
	if out.Class = becomes(p.Class); p.next != nil {
		out.next = becomes(p.next)
	}
	return &out
}
