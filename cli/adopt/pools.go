package adopt

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/cloud/ec2"
	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/engine/plan"
)

// moved is a NodePool that takes the place of one or several groups.
type moved struct {
	name         string
	groups       []*group
	types, zones []string
	capacity     []string
	labels       map[string]string
	taints       []corev1.Taint
	cpus, max    int64
	nodes        int
	notes        []string
}

// pools joins groups into NodePools. Groups that differ in labels or taints stay apart.
func pools(groups []group, nodes []*corev1.Node) ([]*moved, error) {
	types, err := ec2.Types()
	if err != nil {
		return nil, err
	}
	cpus := map[string]int64{}
	for _, t := range types {
		cpus[t.Name] = t.VCPUs
	}
	var out []*moved
	for i := range groups {
		g := &groups[i]
		labels, taints, err := g.template(nodes)
		if err != nil {
			return nil, err
		}
		names, byAttributes := g.types()
		at := slices.IndexFunc(out, func(m *moved) bool {
			return m.name == g.pool() && maps.Equal(m.labels, labels) && slices.Equal(m.taints, taints)
		})
		if at < 0 {
			name := g.pool()
			if slices.ContainsFunc(out, func(m *moved) bool { return m.name == name }) {
				name = fmt.Sprintf("%s-%d", name, i)
			}
			out, at = append(out, &moved{name: name, labels: labels, taints: taints}), len(out)
		}
		m := out[at]
		m.groups = append(m.groups, g)
		m.types, m.zones, m.capacity = union(m.types, names), union(m.zones, g.AvailabilityZones), union(m.capacity, g.capacity())
		largest := int64(0)
		for _, name := range names {
			if cpus[name] == 0 {
				m.note("the number of vCPUs of %s is not known here", name)
			}
			largest = max(largest, cpus[name])
		}
		m.cpus, m.max, m.nodes = m.cpus+largest*g.MaxSize, m.max+g.MaxSize, m.nodes+len(g.Instances)
		if g.MinSize > 0 {
			m.note("%s has a minimum size of %d; a NodePool keeps the machines that pods need", g.Name, g.MinSize)
		}
		if len(names) == 0 && !byAttributes {
			m.note("%s has no instances, and its launch template is not read; the pool may launch all types of amd64", g.Name)
		}
		if byAttributes {
			m.note("%s chooses types by attributes; the pool has those that run now, or all of amd64 if none does", g.Name)
		}
	}
	return out, nil
}

func (m *moved) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.notes, text) {
		m.notes = append(m.notes, text)
	}
}

func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

type object = map[string]any

func (m *moved) object() object {
	requirements := []object{{"key": "karpenter.sh/capacity-type", "operator": "In", "values": m.capacity}}
	if len(m.types) > 0 {
		requirements = append(requirements, object{"key": corev1.LabelInstanceTypeStable, "operator": "In", "values": m.types})
	} else { // of any type, and images may be for one architecture only
		requirements = append(requirements, object{"key": corev1.LabelArchStable, "operator": "In", "values": []string{"amd64"}})
	}
	if len(m.zones) > 0 {
		requirements = append(requirements, object{"key": corev1.LabelTopologyZone, "operator": "In", "values": m.zones})
	}
	spec := object{
		"nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": className},
		"requirements": requirements,
	}
	if len(m.taints) > 0 {
		spec["taints"] = m.taints
	}
	template := object{"spec": spec}
	if len(m.labels) > 0 {
		template["metadata"] = object{"labels": m.labels}
	}
	limits := object{"nodes": fmt.Sprint(m.max)}
	if m.cpus > 0 {
		limits = object{"cpu": fmt.Sprint(m.cpus)}
	}
	return object{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": object{"name": m.name},
		"spec": object{
			"limits":   limits,
			"template": template,
			// As long as cluster-autoscaler waits by default.
			"disruption": object{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "10m"},
		},
	}
}

// className is that of the node class for all pools.
const className = "default"

// class is the node class of machines in the groups' subnets.
func class(groups []group, cluster, role string) object {
	var subnets []string
	for _, g := range groups {
		for id := range strings.SplitSeq(g.Subnets, ",") {
			if id != "" {
				subnets = union(subnets, []string{id})
			}
		}
	}
	var terms []object
	for _, id := range subnets {
		terms = append(terms, object{"id": id})
	}
	if len(terms) == 0 {
		terms = []object{{"tags": object{"karpenter.sh/discovery": cluster}}}
	}
	return object{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": object{"name": className},
		"spec": object{
			"role":                role,
			"amiSelectorTerms":    []object{{"alias": "al2023@latest"}},
			"subnetSelectorTerms": terms,
			// EKS gives this tag to the cluster's own security group.
			"securityGroupSelectorTerms": []object{{"tags": object{"kubernetes.io/cluster/" + cluster: "owned"}}},
		},
	}
}

// moves is the way of a cluster's machines to its pools.
type moves struct {
	cluster string
	pools   []*moved
	// others are the groups of the account that stay as they are.
	others []string
	nodes  []*corev1.Node
}

// write writes the objects, with the way to them as a comment before.
func (a moves) write(w io.Writer, nodeClass object) error {
	var out strings.Builder
	a.waves(&out)
	if err := write(&out, nodeClass, nil); err != nil {
		return err
	}
	for _, m := range a.pools {
		if m.system() {
			continue
		}
		if err := write(&out, m.object(), m.notes); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func write(out *strings.Builder, o object, notes []string) error {
	text, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	out.WriteString("---\n")
	for _, note := range notes {
		fmt.Fprintf(out, "# %s.\n", note)
	}
	out.Write(text)
	return nil
}

// system says whether the pool is for what has to run before any autoscaler: its group stays.
func (m *moved) system() bool {
	return slices.ContainsFunc(m.taints, func(t corev1.Taint) bool { return t.Key == "CriticalAddonsOnly" })
}

// waves says in which order machines move: groups with few machines first, each as a whole.
// Groups of machines for system pods stay, Millwright itself runs there.
func (a moves) waves(out *strings.Builder) {
	order := slices.Clone(a.pools)
	slices.SortStableFunc(order, func(a, b *moved) int { return a.nodes - b.nodes })
	out.WriteString("# From cluster-autoscaler to Millwright, group by group. Two autoscalers must not answer the\n# same pods: cluster-autoscaler stops before the pools are there.\n#\n#   kubectl --namespace kube-system scale deployment cluster-autoscaler --replicas=0\n#   kubectl apply -f THIS-FILE\n#\n# Then each wave moves the machines of one pool. Wait until its pods run before the next;\n# PodDisruptionBudgets hold a drain back as they always do.\n")
	if len(a.others) > 0 {
		fmt.Fprintf(out, "#\n# Left out, as neither a tag nor a Node says that they are of cluster %s: %s\n", a.cluster, strings.Join(a.others, ", "))
	}
	n := 0
	for _, m := range order {
		if m.system() {
			fmt.Fprintf(out, "#\n# %s stays: it is for what must run before machines are launched, Millwright among it.\n", m.name)
			continue
		}
		n++
		fmt.Fprintf(out, "#\n# Wave %d: %s, %s\n", n, m.name, plan.Count(m.nodes, "machine"))
		for i, g := range m.groups {
			if managed := g.tag(nodeTag); managed != "" {
				if i > 0 && m.groups[i-1].tag(nodeTag) == managed {
					continue // one node group, a group for each zone
				}
				fmt.Fprintf(out, "#   kubectl drain --selector eks.amazonaws.com/nodegroup=%s --ignore-daemonsets --delete-emptydir-data\n#   aws eks update-nodegroup-config --cluster-name %s --nodegroup-name %s --scaling-config minSize=0,desiredSize=0\n", managed, finding.Word(a.cluster), managed)
				continue
			}
			if names := g.nodeNames(a.nodes); len(g.Instances) == 0 {
				out.WriteString("#   it has no machines now\n")
			} else if len(names) > 0 {
				fmt.Fprintf(out, "#   kubectl drain %s --ignore-daemonsets --delete-emptydir-data\n", strings.Join(names, " "))
			} else {
				fmt.Fprintf(out, "#   kubectl drain NODE... --ignore-daemonsets --delete-emptydir-data   # give the Nodes with -f to have them named\n")
			}
			fmt.Fprintf(out, "#   aws autoscaling update-auto-scaling-group --auto-scaling-group-name %s --min-size 0 --desired-capacity 0\n", finding.Word(g.Name))
		}
	}
	out.WriteString("#\n# Back: kubectl delete -f THIS-FILE, the sizes as they were, and cluster-autoscaler with its replicas.\n")
}
