package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// poolsWithoutAClass name a node class that is not there, while others are.
func poolsWithoutAClass(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		ref := np.Spec.Template.Spec.NodeClassRef
		if ref == nil || ref.Kind != "EC2NodeClass" || len(in.Classes) == 0 {
			continue
		}
		var names []string
		for _, c := range in.Classes {
			names = append(names, c.Name)
		}
		if slices.Contains(names, ref.Name) {
			continue
		}
		f := Finding{
			Severity: Error, Object: poolRef(np), Field: "spec.template.spec.nodeClassRef.name",
			Message: fmt.Sprintf("is %s, and there is no such EC2NodeClass, only %s: the pool launches nothing", ref.Name, strings.Join(names, ", ")),
			Advice:  "name a class that there is",
		}
		if len(names) == 1 {
			const path = "/spec/template/spec/nodeClassRef/name"
			f.Patch = &Patch{Object: f.Object, Steps: []Step{step("test", path, ref.Name), step("replace", path, names[0])}}
		}
		out = append(out, f)
	}
	return out
}

// poolsOutOfReach have taints that no workload of a whole cluster tolerates.
func poolsOutOfReach(in *Inventory) []Finding {
	if !in.Complete || len(in.Workloads)+len(in.CronJobs)+len(in.Jobs) == 0 {
		return nil
	}
	var out []Finding
	for _, np := range in.Pools {
		taints := np.Spec.Template.Spec.Taints
		if len(taints) == 0 || np.Spec.Replicas != nil ||
			slices.ContainsFunc(in.Workloads, func(w Workload) bool { return in.admits(w.class, np) }) ||
			slices.ContainsFunc(in.CronJobs, func(j *batchv1.CronJob) bool {
				return in.admits(class(j.Namespace, &j.Spec.JobTemplate.Spec.Template), np)
			}) ||
			slices.ContainsFunc(in.Jobs, func(j *batchv1.Job) bool { return in.admits(class(j.Namespace, &j.Spec.Template), np) }) {
			continue
		}
		out = append(out, Finding{
			Severity: Warning, Object: poolRef(np), Field: "spec.template.spec.taints",
			Message: fmt.Sprintf("are %s: no Deployment, StatefulSet, CronJob or Job has pods that tolerate them and may run there, so that nothing is ever launched", texts(taints)),
			Advice:  "give the pods that are meant for the pool the toleration, or take the pool away",
		})
	}
	return out
}

// minValuesUnmet are requirements that want more different values than they name, or than the
// instance types have that the pool may launch.
func minValuesUnmet(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		for i, r := range np.Spec.Template.Spec.Requirements {
			if r.MinValues == nil {
				continue
			}
			has, why := in.values(np, r)
			if has < 0 || *r.MinValues <= has {
				continue
			}
			path := fmt.Sprintf("/spec/template/spec/requirements/%d/minValues", i)
			f := Finding{
				Severity: Error, Object: poolRef(np), Field: fmt.Sprintf("spec.template.spec.requirements[%d].minValues", i),
				Message: fmt.Sprintf("is %d, and %s: no set of instance types meets that", *r.MinValues, why),
				Advice:  "ask for as many as there are, or allow more values",
			}
			if has > 0 {
				f.Patch = &Patch{Object: poolRef(np), Steps: []Step{step("test", path, *r.MinValues), step("replace", path, has)}}
			}
			out = append(out, f)
		}
	}
	return out
}

// values counts those that a requirement of a pool may have, and says of what; -1 if it is not
// known.
func (in *Inventory) values(np *karpv1.NodePool, r karpv1.NodeSelectorRequirementWithMinValues) (has int, why string) {
	if r.Operator == corev1.NodeSelectorOpIn && *r.MinValues > len(r.Values) {
		return len(r.Values), fmt.Sprintf("%s may have %d values", r.Key, len(r.Values))
	}
	if in.Types == nil {
		return -1, ""
	}
	types, err := in.Types(np)
	if err != nil || len(types) == 0 {
		return -1, ""
	}
	seen := map[string]bool{}
	launches := map[string]bool{}
	for _, c := range catalog.Rank(types, cluster.Pool(np, cluster.Options{Offline: true}).Requirements, nil, nil) {
		launches[c.Type.Name] = true
		if value, ok := c.Labels()[r.Key]; ok {
			seen[value] = true
		}
	}
	return len(seen), fmt.Sprintf("the %d instance types that the pool may launch have %d values of %s", len(launches), len(seen), r.Key)
}

// mostBetween is the longest time between two runs for which it pays to keep a node.
const mostBetween = time.Hour

// consolidatedBetweenJobs are pools whose nodes go in the pauses of a CronJob.
func consolidatedBetweenJobs(in *Inventory) []Finding {
	var out []Finding
	for _, np := range in.Pools {
		after := np.Spec.Disruption.ConsolidateAfter.Duration
		if after == nil {
			continue
		}
		for _, job := range in.CronJobs {
			every := interval(job)
			if every == 0 || every > mostBetween || *after >= every || !in.admits(class(job.Namespace, &job.Spec.JobTemplate.Spec.Template), np) {
				continue
			}
			out = append(out, Finding{
				Severity: Warning, Object: poolRef(np), Field: "spec.disruption.consolidateAfter",
				Message: fmt.Sprintf("is %s, and cronjob/%s -n %s runs every %s: a node that it alone needs is launched for each run and goes after it", *after, job.Name, job.Namespace, every),
				Advice:  "keep nodes for longer than the pause between two runs",
				Patch:   &Patch{Object: poolRef(np), Steps: []Step{step("add", "/spec/disruption/consolidateAfter", (in.longest(np) + time.Minute).String())}},
			})
			break
		}
	}
	return out
}

// longest is the longest pause of the CronJobs that a pool should outlast.
func (in *Inventory) longest(np *karpv1.NodePool) time.Duration {
	var out time.Duration
	for _, job := range in.CronJobs {
		if every := interval(job); every <= mostBetween && in.admits(class(job.Namespace, &job.Spec.JobTemplate.Spec.Template), np) {
			out = max(out, every)
		}
	}
	return out
}

// interval is the time between two runs of a CronJob on the first of January, zero if it does
// not run.
func interval(job *batchv1.CronJob) time.Duration {
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		return 0
	}
	schedule, err := cron.ParseStandard(job.Spec.Schedule)
	if err != nil {
		return 0 // the API server says so
	}
	first := schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	second := schedule.Next(first)
	if second.IsZero() {
		return 0
	}
	return second.Sub(first)
}
