package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/spread"
)

// SchedulerGroup is the API group of kube-scheduler's configuration.
const SchedulerGroup = "kubescheduler.config.k8s.io"

// KubeSchedulerConfiguration is kube-scheduler's file, with the name that an inventory gives it.
type KubeSchedulerConfiguration struct {
	metav1.ObjectMeta                      `json:"metadata,omitzero"`
	schedulerv1.KubeSchedulerConfiguration `json:",inline"`
}

// DeepCopyObject copies it.
func (c *KubeSchedulerConfiguration) DeepCopyObject() runtime.Object {
	return &KubeSchedulerConfiguration{*c.ObjectMeta.DeepCopy(), *c.KubeSchedulerConfiguration.DeepCopy()}
}

// Scheduler is a configuration and where it is: Field is of the object, before the
// configuration's own.
type Scheduler struct {
	Ref    plan.ObjectRef
	Field  string
	Config *schedulerv1.KubeSchedulerConfiguration
}

// SchedulersIn are the configurations that a ConfigMap holds. What cannot be read is not one.
func SchedulersIn(o *corev1.ConfigMap) []Scheduler {
	var out []Scheduler
	for _, key := range slices.Sorted(maps.Keys(o.Data)) {
		var config schedulerv1.KubeSchedulerConfiguration
		if !strings.Contains(o.Data[key], SchedulerGroup) || yaml.Unmarshal([]byte(o.Data[key]), &config) != nil || config.Kind != "KubeSchedulerConfiguration" {
			continue
		}
		out = append(out, Scheduler{finding.RefOf("ConfigMap", o), fmt.Sprintf("data[%q].", key), &config})
	}
	return out
}

// followed are kube-scheduler's own filters, which plans follow.
var followed = []string{"NodeAffinity", "NodeName", "NodePorts", "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits", "InterPodAffinity", "PodTopologySpread", "TaintToleration", "VolumeBinding", "VolumeRestrictions", "VolumeZone"}

// filterless are kube-scheduler's own plugins that keep no pod off a node.
var filterless = []string{"DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling", "ImageLocality", "NodeDeclaredFeatures", "NodeResourcesBalancedAllocation", "PrioritySort", "SchedulingGates"}

// SchedulersThatDiffer let kube-scheduler decide by other filters than plans do. told are the
// default spreads that each controller is told of.
func SchedulersThatDiffer(all []Scheduler, told []spread.Defaults) []finding.Finding {
	var out []finding.Finding
	for _, s := range all {
		for i := range s.Config.Profiles {
			for _, d := range differences(&s.Config.Profiles[i], told) {
				d.Field = fmt.Sprintf("%sprofiles[%d].%s", s.Field, i, d.Field)
				d.Severity, d.Object = finding.Warning, s.Ref
				out = append(out, d)
			}
		}
		for i, e := range s.Config.Extenders {
			if e.FilterVerb == "" {
				continue
			}
			out = append(out, finding.Finding{
				Severity: finding.Warning, Object: s.Ref, Field: fmt.Sprintf("%sextenders[%d].filterVerb", s.Field, i),
				Message: fmt.Sprintf("asks %s which nodes a pod may run on: plans do not, and launch nodes that it may refuse", e.URLPrefix),
				Advice:  "let the extender only score, or keep its pods to nodes that are no pool's",
			})
		}
	}
	return out
}

// differences are those of a profile; fields are the profile's.
func differences(p *schedulerv1.KubeSchedulerProfile, told []spread.Defaults) []finding.Finding {
	var out []finding.Finding
	add := func(field, message, advice string) {
		out = append(out, finding.Finding{Field: field, Message: message, Advice: advice})
	}
	if p.Plugins != nil {
		for _, point := range []struct {
			name string
			set  schedulerv1.PluginSet
		}{{"filter", p.Plugins.Filter}, {"multiPoint", p.Plugins.MultiPoint}} {
			for i, off := range point.set.Disabled {
				if missing := lost(p.Plugins, off.Name); len(missing) > 0 {
					add(fmt.Sprintf("plugins.%s.disabled[%d]", point.name, i),
						fmt.Sprintf("leaves out %s, which plans follow: they launch nodes for pods that kube-scheduler binds elsewhere, or say that no node fits", strings.Join(missing, ", ")),
						"leave the filters on: pods that do not use them are not kept from any node")
				}
			}
			for i, on := range point.set.Enabled {
				if !slices.Contains(followed, on.Name) && !slices.Contains(filterless, on.Name) {
					add(fmt.Sprintf("plugins.%s.enabled[%d]", point.name, i),
						fmt.Sprintf("is %s, of which plans know nothing: if it keeps a pod off a node that was launched for it, the pod waits beside that node", on.Name),
						"keep it to a profile of its own, whose pods name it in schedulerName and run on nodes that are no pool's")
				}
			}
		}
	}
	for i, c := range p.PluginConfig {
		out = append(out, argued(c, fmt.Sprintf("pluginConfig[%d].args.", i), told)...)
	}
	return out
}

// lost are the filters that a profile has no more when it disables a plugin; "*" is all.
func lost(p *schedulerv1.Plugins, off string) []string {
	return slices.DeleteFunc(slices.Clone(followed), func(name string) bool {
		named := func(one schedulerv1.Plugin) bool { return one.Name == name }
		return off != "*" && off != name || slices.ContainsFunc(p.Filter.Enabled, named) || slices.ContainsFunc(p.MultiPoint.Enabled, named)
	})
}

// argued are the differences that a plugin's arguments make; at is before their fields.
func argued(c schedulerv1.PluginConfig, at string, told []spread.Defaults) []finding.Finding {
	var args struct {
		DefaultConstraints    []corev1.TopologySpreadConstraint
		IgnoredResources      []string
		IgnoredResourceGroups []string
		AddedAffinity         *corev1.NodeAffinity
	}
	if len(c.Args.Raw) == 0 || json.Unmarshal(c.Args.Raw, &args) != nil {
		return nil // kube-scheduler does not start with what cannot be read
	}
	var out []finding.Finding
	switch c.Name {
	case "PodTopologySpread":
		for i, d := range args.DefaultConstraints {
			unknown := func(known spread.Defaults) bool {
				return !slices.ContainsFunc(known, func(k corev1.TopologySpreadConstraint) bool { return apiequality.Semantic.DeepEqual(k, d) })
			}
			if d.WhenUnsatisfiable == corev1.DoNotSchedule && (len(told) == 0 || slices.ContainsFunc(told, unknown)) {
				out = append(out, finding.Finding{
					Field:   fmt.Sprintf("%sdefaultConstraints[%d].whenUnsatisfiable", at, i),
					Message: fmt.Sprintf("is DoNotSchedule for %s, of all pods that say nothing themselves: plans that are not told of it launch nodes in domains where kube-scheduler lets no pod go", d.TopologyKey),
					Advice:  "give the controller the same constraints, in SCHEDULER_CONFIG under podTopologySpread (in the chart settings.schedulerConfig); Karpenter knows it from 1.15 on",
				})
			}
		}
	case "NodeResourcesFit":
		if all := append(args.IgnoredResources, args.IgnoredResourceGroups...); len(all) > 0 {
			out = append(out, finding.Finding{
				Field:   at + "ignoredResources",
				Message: fmt.Sprintf("name %s, which plans count: they launch nodes for pods that kube-scheduler puts onto others", strings.Join(all, ", ")),
				Advice:  "let pods not request what is not to be counted",
			})
		}
	case "NodeAffinity":
		if args.AddedAffinity != nil && args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			out = append(out, finding.Finding{
				Field:   at + "addedAffinity",
				Message: "is required of all pods of the profile: plans read only what pods say, and launch nodes that kube-scheduler does not use",
				Advice:  "write it into the pods, by an admission policy if need be",
			})
		}
	}
	return out
}
