package adopt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// group is an Auto Scaling group as describe-auto-scaling-groups prints it, as far as it says
// what its machines are.
type group struct {
	Name              string   `json:"AutoScalingGroupName"`
	MinSize           int64    `json:"MinSize"`
	MaxSize           int64    `json:"MaxSize"`
	AvailabilityZones []string `json:"AvailabilityZones"`
	Subnets           string   `json:"VPCZoneIdentifier"` // comma-separated
	Tags              []tag    `json:"Tags"`
	Instances         []struct {
		ID   string `json:"InstanceId"`
		Type string `json:"InstanceType"`
	} `json:"Instances"`
	Mixed *struct {
		Distribution struct {
			Base      int64  `json:"OnDemandBaseCapacity"`
			AboveBase *int64 `json:"OnDemandPercentageAboveBaseCapacity"`
		} `json:"InstancesDistribution"`
		Template struct {
			Overrides []struct {
				Type         string          `json:"InstanceType"`
				Requirements json.RawMessage `json:"InstanceRequirements"`
			} `json:"Overrides"`
		} `json:"LaunchTemplate"`
	} `json:"MixedInstancesPolicy"`
}

type tag struct{ Key, Value string }

// readGroups reads what `aws autoscaling describe-auto-scaling-groups` prints.
func readGroups(from io.Reader) ([]group, error) {
	var answer struct {
		Groups []group `json:"AutoScalingGroups"`
	}
	if err := json.NewDecoder(from).Decode(&answer); err != nil {
		return nil, fmt.Errorf("this is not what aws autoscaling describe-auto-scaling-groups prints: %w", err)
	}
	if len(answer.Groups) == 0 {
		return nil, fmt.Errorf("there is no Auto Scaling group: AutoScalingGroups is empty or missing")
	}
	for i, g := range answer.Groups {
		if g.Name == "" {
			return nil, fmt.Errorf("AutoScalingGroups[%d]: AutoScalingGroupName is missing", i)
		}
	}
	slices.SortFunc(answer.Groups, func(a, b group) int { return cmp.Compare(a.Name, b.Name) })
	return answer.Groups, nil
}

func (g *group) tag(key string) string {
	i := slices.IndexFunc(g.Tags, func(t tag) bool { return t.Key == key })
	if i < 0 {
		return ""
	}
	return g.Tags[i].Value
}

// The tags by which cluster-autoscaler learns what a machine of an empty group would be.
const (
	autoTag  = "k8s.io/cluster-autoscaler/"
	labelTag = "k8s.io/cluster-autoscaler/node-template/label/"
	taintTag = "k8s.io/cluster-autoscaler/node-template/taint/"
	nodeTag  = "eks:nodegroup-name"
)

// cluster is the name of the EKS cluster, empty if no tag says it.
func (g *group) cluster() string {
	if name := g.tag("eks:cluster-name"); name != "" {
		return name
	}
	for _, t := range g.Tags {
		if name, ok := strings.CutPrefix(t.Key, "kubernetes.io/cluster/"); ok {
			return name
		}
		if name, ok := strings.CutPrefix(t.Key, autoTag); ok && name != "enabled" && !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

// ofCluster parts the groups of a cluster from the others of an account. Without a name it is the
// only cluster that tags name. Where tags name one, a group that they say nothing of is of the
// cluster if cluster-autoscaler scales it or one of its instances is among the Nodes.
func ofCluster(all []group, cluster *string, nodes []*corev1.Node) (groups []group, others []string, err error) {
	tagged := map[string]bool{}
	for i := range all {
		if name := all[i].cluster(); name != "" {
			tagged[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(tagged))
	switch {
	case *cluster == "" && len(names) == 0:
		return nil, nil, errors.New("no tag of the groups names the cluster: say it with --cluster-name")
	case *cluster == "" && len(names) > 1:
		return nil, nil, fmt.Errorf("the groups are of several clusters: pick one of %s with --cluster-name", strings.Join(names, ", "))
	case *cluster == "":
		*cluster = names[0]
	}
	for _, g := range all {
		name := g.cluster()
		if name == *cluster || len(names) == 0 || name == "" && (g.tag(autoTag+"enabled") != "" || len(g.nodes(nodes)) > 0) {
			groups = append(groups, g)
		} else {
			others = append(others, g.Name)
		}
	}
	if len(groups) == 0 {
		return nil, nil, fmt.Errorf("no group is of cluster %s; tags name %s", *cluster, strings.Join(names, ", "))
	}
	return groups, others, nil
}

// pool is what the group's NodePool is called. Groups of one managed node group, or that are
// called alike but for their zone, are one pool: cluster-autoscaler needs one for each zone.
func (g *group) pool() string {
	name := cmp.Or(g.tag(nodeTag), g.Name)
	if len(g.AvailabilityZones) == 1 {
		name = strings.TrimSuffix(name, "-"+g.AvailabilityZones[0])
	}
	name = strings.Trim(regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
	return strings.TrimRight(name[:min(len(name), 50)], "-")
}

// types are the group's instance types, in order; byAttributes says that EC2 chooses them.
func (g *group) types() (types []string, byAttributes bool) {
	set := map[string]bool{}
	if g.Mixed != nil {
		for _, o := range g.Mixed.Template.Overrides {
			byAttributes = byAttributes || len(o.Requirements) > 0
			if o.Type != "" {
				set[o.Type] = true
			}
		}
	}
	if len(set) == 0 {
		for _, i := range g.Instances {
			set[i.Type] = true
		}
	}
	return slices.Sorted(maps.Keys(set)), byAttributes
}

// capacity are the capacity types that the group buys.
func (g *group) capacity() []string {
	if g.Mixed == nil || g.Mixed.Distribution.AboveBase == nil || *g.Mixed.Distribution.AboveBase >= 100 {
		return []string{"on-demand"}
	}
	if *g.Mixed.Distribution.AboveBase == 0 && g.Mixed.Distribution.Base == 0 {
		return []string{"spot"}
	}
	return []string{"on-demand", "spot"}
}

// template are the labels and taints of the group's machines: those of the tags and, where
// Nodes are given, those that all of its Nodes have.
func (g *group) template(nodes []*corev1.Node) (labels map[string]string, taints []corev1.Taint, err error) {
	labels = map[string]string{}
	for _, t := range g.Tags {
		if key, ok := strings.CutPrefix(t.Key, labelTag); ok && ownLabel(key) {
			labels[key] = t.Value
		}
		if key, ok := strings.CutPrefix(t.Key, taintTag); ok {
			value, effect, ok := strings.Cut(t.Value, ":")
			if !ok || !slices.Contains([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}, corev1.TaintEffect(effect)) {
				return nil, nil, fmt.Errorf("group %s: tag %s: %q is not VALUE:EFFECT", g.Name, t.Key, t.Value)
			}
			taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	of := g.nodes(nodes)
	for i, n := range of {
		for key, value := range n.Labels {
			if i == 0 && ownLabel(key) && labels[key] == "" && all(of, func(o *corev1.Node) bool { return o.Labels[key] == value }) {
				labels[key] = value
			}
		}
		for _, taint := range n.Spec.Taints {
			if i == 0 && !strings.Contains(taint.Key, "node.kubernetes.io/") && taint.Key != "ToBeDeletedByClusterAutoscaler" && taint.Key != "DeletionCandidateOfClusterAutoscaler" &&
				!slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) &&
				all(of, func(o *corev1.Node) bool {
					return slices.ContainsFunc(o.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
				}) {
				taints = append(taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
			}
		}
	}
	slices.SortFunc(taints, func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	return labels, taints, nil
}

// nodes are the Nodes of the group's instances.
func (g *group) nodes(all []*corev1.Node) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range all {
		id := n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]
		for _, i := range g.Instances {
			if i.ID == id {
				out = append(out, n)
			}
		}
	}
	return out
}

// nodeNames are the names of the Nodes of the group's instances.
func (g *group) nodeNames(all []*corev1.Node) []string {
	var out []string
	for _, n := range g.nodes(all) {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out
}

// ownLabel says whether a label is one that people gave to machines, not Kubernetes or EKS.
func ownLabel(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return true
	}
	for _, of := range []string{"kubernetes.io", "k8s.io", "eks.amazonaws.com", "k8s.aws", "ebs.csi.aws.com", "eksctl.io", "karpenter.sh"} {
		if domain == of || strings.HasSuffix(domain, "."+of) {
			return false
		}
	}
	return true
}

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(e T) bool { return !is(e) })
}
