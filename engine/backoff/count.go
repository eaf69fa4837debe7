package backoff

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// TemplateAnnotation is the hash of the template that a claim was made from, in
// Karpenter's words.
const TemplateAnnotation = "karpenter.sh/nodepool-hash"

// kept bounds how many failures are remembered for a pool, and how many claims for
// a failure.
const kept = 20

// keptWorkloads bounds how many workloads are remembered for a pool.
const keptWorkloads = 100

// Count brings the failures of a pool up to date with its claims, those that are
// being deleted included. Counting the same claims twice is the same as once. The
// result is new, in a fixed order; template is the pool's present one.
func Count(failures []snapshot.Failure, claims []*snapshot.Claim, template string) []snapshot.Failure {
	out := cloned(failures)
	ordered := slices.Clone(claims)
	slices.SortFunc(ordered, func(a, b *snapshot.Claim) int {
		return cmp.Or(ended(a).Compare(ended(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range ordered {
		out = count(out, c)
	}
	out = countUnused(out, claims)
	return tidy(out, template)
}

// count adds one claim to what it has in common with others.
func count(failures []snapshot.Failure, c *snapshot.Claim) []snapshot.Failure {
	reason, at := failure(c)
	failed := !at.IsZero()
	for _, key := range keys(c, failed) {
		i := slices.IndexFunc(failures, func(f snapshot.Failure) bool {
			return f.Workload == "" && f.Template == key.Template && f.Offering == key.Offering && f.Image == key.Image && f.Resource == key.Resource
		})
		switch {
		case failed && i < 0:
			failures, i = append(failures, key), len(failures)
		case failed && slices.Contains(failures[i].Counted, c.UID):
			continue
		case !failed && i >= 0 && ready(c).After(failures[i].Last):
			f := &failures[i]
			f.Types = slices.DeleteFunc(f.Types, func(t string) bool { return t == c.Labels[corev1.LabelInstanceTypeStable] })
			f.Count, f.Machines = 0, nil
			if len(f.Types) == 0 {
				failures = slices.Delete(failures, i, i+1)
			}
			continue
		case !failed:
			continue
		}
		f := &failures[i]
		if f.Count > 0 && f.OnlyImage != key.OnlyImage {
			f.OnlyImage = ""
		}
		f.Count, f.Last, f.Reason, f.Claim = f.Count+1, at, string(reason), c.Name
		f.Counted = append(f.Counted[max(0, len(f.Counted)+1-kept):], c.UID)
		if f.Resource != "" {
			on := c.Labels[corev1.LabelInstanceTypeStable]
			if tell(f, c.Name+": "+on); !slices.Contains(f.Types, on) {
				f.Types = append(f.Types[max(0, len(f.Types)+1-kept):], on)
			}
		}
	}
	return failures
}

// failure is why and when a claim's machine failed, zero if it has not: when it was given up, or
// kept although it had failed.
func failure(c *snapshot.Claim) (reason lifecycle.DeleteReason, at time.Time) {
	if reason = lifecycle.DeleteReason(c.Annotations[lifecycle.GivenUpAnnotation]); reason.Failure() {
		return reason, c.Deleted
	}
	return lifecycle.InitializationTimedOut, lifecycle.Kept(c)
}

func cloned(failures []snapshot.Failure) []snapshot.Failure {
	out := make([]snapshot.Failure, 0, len(failures)+2)
	for _, f := range failures {
		f.Counted, f.Machines, f.Types = slices.Clone(f.Counted), slices.Clone(f.Machines), slices.Clone(f.Types)
		out = append(out, f)
	}
	return out
}

// listed bounds the machines that a failure tells of.
const listed = 5

// countUnused counts machines that workloads did not use, each round of launches once:
// machines that were found unused at the same time were launched in one.
func countUnused(failures []snapshot.Failure, claims []*snapshot.Claim) []snapshot.Failure {
	type found struct {
		Unused
		*snapshot.Claim
	}
	var all []found
	for _, c := range claims {
		for _, u := range UnusedOf(c) {
			all = append(all, found{u, c})
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	for _, u := range all {
		template := u.Annotations[TemplateAnnotation]
		i := slices.IndexFunc(failures, func(f snapshot.Failure) bool { return f.Workload == u.Workload && f.Template == template })
		if i < 0 {
			failures, i = append(failures, snapshot.Failure{Workload: u.Workload, Template: template}), len(failures)
		}
		f := &failures[i]
		if u.At.Before(f.Last) {
			continue
		}
		if u.At.After(f.Last) {
			f.Count, f.Last, f.Reason, f.Claim = f.Count+1, u.At, string(plan.MachinesUnused), u.Name
		}
		tell(f, u.Name+": "+u.Why)
	}
	return failures
}

// tell adds what became of a machine to those that a failure tells of.
func tell(f *snapshot.Failure, became string) {
	if !slices.Contains(f.Machines, became) {
		f.Machines = append(f.Machines[max(0, len(f.Machines)+1-listed):], became)
	}
}

// keys are what a claim may have in common with others. One that failed for want of a resource
// says nothing of pods that do not request it, and one that got ready has all that it requests.
func keys(c *snapshot.Claim, failed bool) []snapshot.Failure {
	t, lacked := c.Annotations[TemplateAnnotation], corev1.ResourceName(c.Annotations[snapshot.LackedAnnotation])
	switch {
	case t == "":
		return nil
	case failed && lacked != "":
		return []snapshot.Failure{{Template: t, Resource: lacked}}
	}
	out := []snapshot.Failure{{Template: t, OnlyImage: c.Image}}
	if !failed {
		for name := range lifecycle.Wanted(c) {
			out = append(out, snapshot.Failure{Template: t, Resource: name})
		}
	}
	if c.Image != "" {
		out = append(out, snapshot.Failure{Template: t, Image: c.Image})
	}
	if o := offering(c); o != (catalog.Key{}) {
		out = append(out, snapshot.Failure{Template: t, Offering: lifecycle.FormatPlanned(o)})
	}
	return out
}

// requests reports whether a claim asks for some of a resource.
func requests(c *snapshot.Claim, name corev1.ResourceName) bool {
	_, wanted := lifecycle.Wanted(c)[name]
	return wanted
}

// offering is what the claim became, or was to become if it never did.
func offering(c *snapshot.Claim) catalog.Key {
	if c.ProviderID != "" {
		return catalog.Key{Type: c.Labels[corev1.LabelInstanceTypeStable], Zone: c.Labels[corev1.LabelTopologyZone], CapacityType: c.Labels[catalog.CapacityTypeLabel]}
	}
	planned, err := lifecycle.ParsePlanned(c.Annotations[lifecycle.PlannedAnnotation])
	if err != nil {
		return catalog.Key{}
	}
	return planned
}

// ready is when a machine got ready for work, zero if it has not.
func ready(c *snapshot.Claim) time.Time {
	if !c.Is(snapshot.Initialized) {
		return time.Time{}
	}
	return c.Conditions[snapshot.Initialized].Since
}

func ended(c *snapshot.Claim) time.Time {
	for _, at := range []time.Time{c.Deleted, lifecycle.Kept(c)} {
		if !at.IsZero() {
			return at
		}
	}
	return ready(c)
}

// tidy forgets other templates and old offerings, and puts the rest in order: the
// template, its resources, its images, its offerings, workloads.
func tidy(failures []snapshot.Failure, template string) []snapshot.Failure {
	out := slices.DeleteFunc(failures, func(f snapshot.Failure) bool { return f.Template != template })
	kind := func(f snapshot.Failure) int {
		switch {
		case f.Workload != "":
			return 4
		case f.Offering != "":
			return 3
		case f.Image != "":
			return 2
		case f.Resource != "":
			return 1
		}
		return 0
	}
	slices.SortFunc(out, func(a, b snapshot.Failure) int {
		return cmp.Or(cmp.Compare(kind(a), kind(b)), b.Last.Compare(a.Last), cmp.Compare(a.Image, b.Image),
			cmp.Compare(a.Offering, b.Offering), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Workload, b.Workload))
	})
	workloads := slices.IndexFunc(out, func(f snapshot.Failure) bool { return f.Workload != "" })
	if workloads < 0 {
		workloads = len(out)
	}
	return slices.Concat(out[:min(workloads, kept)], out[workloads:min(len(out), workloads+keptWorkloads)])
}
