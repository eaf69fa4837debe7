package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/webhook"
)

// pdbsThatMatchNothing protect no pod. What a PDB's status says counts more than what is given.
func pdbsThatMatchNothing(in *Inventory) []Finding {
	var out []Finding
	selects := selected(in)
	for _, pdb := range in.PDBs {
		if pdb.Status.ObservedGeneration > 0 && pdb.Status.ExpectedPods > 0 || len(selects[pdb]) > 0 {
			continue
		}
		beside := slices.DeleteFunc(slices.Clone(in.Workloads), func(w Workload) bool { return w.Ref.Namespace != pdb.Namespace })
		if len(beside) == 0 && (!in.Complete || pdb.Status.ObservedGeneration == 0) {
			continue // its pods may be elsewhere, or of a kind that is not known
		}
		f := Finding{
			Severity: Warning, Object: refOf("PodDisruptionBudget", pdb), Field: "spec.selector",
			Message: "selects no pod: what it is meant for is evicted without being asked for",
			Advice:  "select the labels of the pods, or take it away",
		}
		if i := slices.IndexFunc(beside, func(w Workload) bool { return w.Ref.Name == pdb.Name }); i >= 0 {
			f.Advice = fmt.Sprintf("select the labels of the pods, which of %s are %s", beside[i].Ref, labels.Set(beside[i].Template.Labels))
			f.Patch = reselect(pdb, beside[i].Template.Labels)
		}
		out = append(out, f)
	}
	return out
}

// reselect has a budget select labels in place of its own; nil if those are not all that it
// selects by.
func reselect(pdb *policyv1.PodDisruptionBudget, wanted map[string]string) *Patch {
	s := pdb.Spec.Selector
	if s == nil || len(s.MatchLabels) == 0 || len(s.MatchExpressions) > 0 {
		return nil
	}
	at := func(key string) string { return finding.Pointer("spec", "selector", "matchLabels", key) }
	p := &Patch{Object: refOf("PodDisruptionBudget", pdb)}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if _, stays := wanted[key]; !stays {
			p.Steps = append(p.Steps, Step{Op: "remove", Path: at(key)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		p.Steps = append(p.Steps, step("add", at(key), wanted[key]))
	}
	return p
}

// single are workloads of one replica that others wait for: DNS, and what a webhook asks.
func single(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		if w.Replicas != 1 {
			continue
		}
		what := ""
		if dns(w) {
			what = "no name is resolved"
		}
		for _, hook := range in.Webhooks {
			if hook.Fails() && in.asks(hook, w) {
				what = fmt.Sprintf("%s refuses what it would have to ask for", hook.Ref)
			}
		}
		if what == "" {
			continue
		}
		ref, field := w.Ref, "replicas"
		if w.Scaler != nil {
			ref, field = refOf("HorizontalPodAutoscaler", w.Scaler), "minReplicas"
		}
		out = append(out, Finding{
			Severity: Warning, Object: ref, Field: "spec." + field,
			Message: fmt.Sprintf("is 1: whenever its node goes, %s until another one has started", what),
			Advice:  "run two, spread over nodes",
			Patch:   &Patch{Object: ref, Steps: []Step{step("add", "/spec/"+field, 2)}},
		})
	}
	return out
}

// asks reports whether a webhook's Service selects the pods of a workload. Where the Service is
// elsewhere it is taken to be called as they are.
func (in *Inventory) asks(hook webhook.Webhook, w Workload) bool {
	if hook.Service == nil || hook.Service.Namespace != w.Ref.Namespace {
		return false
	}
	for _, s := range in.Services {
		if s.Namespace == w.Ref.Namespace && s.Name == hook.Service.Name {
			return len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(w.Template.Labels))
		}
	}
	return hook.Service.Name == w.Ref.Name
}

// dataOnNodes are StatefulSets whose data is in a folder of the node.
func dataOnNodes(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		if w.Ref.Kind != "StatefulSet" || len(w.Volumes) > 0 {
			continue
		}
		for i, v := range w.Template.Spec.Volumes {
			if v.EmptyDir == nil || v.EmptyDir.Medium == corev1.StorageMediumMemory || !strings.Contains(v.Name, "data") && !strings.Contains(v.Name, "storage") {
				continue
			}
			out = append(out, Finding{
				Severity: Warning, Object: w.Ref, Field: fmt.Sprintf("spec.template.spec.volumes[%d].emptyDir", i),
				Message: fmt.Sprintf("is all that %s is kept in: it is lost whenever the node is consolidated, replaced or taken back", v.Name),
				Advice:  "use volumeClaimTemplates, which means to make the StatefulSet anew",
			})
		}
	}
	return out
}

// ofOnePod are Deployments with a volume that only one pod, or the pods of one node, can have.
func ofOnePod(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		if w.Ref.Kind != "Deployment" {
			continue
		}
		claim, alone, ok := in.exclusive(w)
		f := Finding{Object: w.Ref, Severity: Warning}
		switch {
		case !ok || w.Replicas == 0:
			continue
		case alone && w.Replicas > 1:
			f.Severity, f.Field = Error, "spec.replicas"
			f.Message = fmt.Sprintf("is %d, and persistentvolumeclaim/%s is ReadWriteOncePod: all but one wait for ever, and a node is launched for them again and again", w.Replicas, claim)
			f.Advice = "run one, or give each its own volume by a StatefulSet"
			f.Patch = &Patch{Object: w.Ref, Steps: []Step{step("replace", "/spec/replicas", 1)}}
			if !w.Recreates {
				f.Patch.Steps = append(f.Patch.Steps, recreate)
			}
		case w.Replicas == 1 && !w.Recreates:
			f.Field = "spec.strategy"
			f.Message = fmt.Sprintf("begins a new pod before the old one has ended, and only one node can have persistentvolumeclaim/%s: on another node the new one waits for the volume, and the old one for the new one", claim)
			f.Advice = "end the old pod first"
			f.Patch = &Patch{Object: w.Ref, Steps: []Step{recreate}}
		default:
			continue
		}
		out = append(out, f)
	}
	return out
}

// recreate has the pods of a Deployment end before their successors begin.
var recreate = step("add", "/spec/strategy", map[string]any{"type": "Recreate"})

// exclusive is a claim of a workload that only one node can have, and whether only one pod can.
func (in *Inventory) exclusive(w Workload) (name string, alone, ok bool) {
	for _, v := range w.Template.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		for _, c := range in.Claims {
			if c.Namespace != w.Ref.Namespace || c.Name != v.PersistentVolumeClaim.ClaimName || len(c.Spec.AccessModes) != 1 {
				continue
			}
			switch c.Spec.AccessModes[0] {
			case corev1.ReadWriteOncePod:
				return c.Name, true, true
			case corev1.ReadWriteOnce:
				name, ok = c.Name, true
			}
		}
	}
	return name, false, ok
}

// otherSchedulers are workloads that kube-scheduler's default profile does not place.
func otherSchedulers(in *Inventory) []Finding {
	var out []Finding
	for _, w := range in.Workloads {
		name := w.Template.Spec.SchedulerName
		if name == "" || name == corev1.DefaultSchedulerName {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: w.Ref, Field: "spec.template.spec.schedulerName",
			Message: fmt.Sprintf("is %s: machines are planned by the rules of default-scheduler, and where the other one has different ones its pods do not come to the nodes that were launched for them", name),
			Advice:  "use default-scheduler, or see that the other one filters in the same way",
			Patch:   &Patch{Object: w.Ref, Steps: []Step{step("test", "/spec/template/spec/schedulerName", name), step("replace", "/spec/template/spec/schedulerName", corev1.DefaultSchedulerName)}},
		})
	}
	return out
}
