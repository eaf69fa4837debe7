package check

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/bench"
	"github.com/millwright-dev/millwright/bench/fleet"
	"github.com/millwright-dev/millwright/bench/workload"
)

const cheapest = "c1g.02core" // 2 vCPUs, arm64, $0.072 in every zone

func TestAPlanThatKubernetesWouldAcceptIsAccepted(t *testing.T) {
	p := problem(3)
	accepted(t, p, machine(cheapest, "zone-a", 0.072, "0", "1"), machine(cheapest, "zone-b", 0.072, "2"))
}

func TestUnplacedPodsAreNotWrong(t *testing.T) {
	accepted(t, problem(3), machine(cheapest, "zone-a", 0.072, "0"))
}

func TestWrongPlansAreRefused(t *testing.T) {
	label := func(key, value string) func(*bench.Problem) {
		return func(p *bench.Problem) { p.Pods[0].Spec.NodeSelector = map[string]string{key: value} }
	}
	for _, c := range []struct {
		name     string
		change   func(*bench.Problem)
		machines []bench.Machine
		want     string
	}{
		{"a pod twice", nil, []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0"), machine(cheapest, "zone-a", 0.072, "0"),
		}, "on machine 0 and on machine 1"},
		{"an unknown pod", nil, []bench.Machine{machine(cheapest, "zone-a", 0.072, "99")}, "not in the batch"},
		{"an empty machine", nil, []bench.Machine{machine(cheapest, "zone-a", 0.072)}, "holds no pod"},
		{"an unknown zone", nil, []bench.Machine{machine(cheapest, "zone-x", 0.072, "0")}, "cannot buy"},
		{"a made-up price", nil, []bench.Machine{machine(cheapest, "zone-a", 0.01, "0")}, "price"},
		{"too much processor", nil, []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0", "1", "2", "3"),
		}, "overcommitted: 2400 of 1910 thousandths of cpu"},
		{"a selector that the machine misses", label(corev1.LabelArchStable, "amd64"), []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0"),
		}, "taint or selector"},
		{"a zone that the pod does not want", label(corev1.LabelTopologyZone, "zone-b"), []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0"),
		}, "taint or selector"},
		{"a taint that the pod does not tolerate", func(p *bench.Problem) {
			p.Pools[0].Spec.Template.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}, []bench.Machine{machine(cheapest, "zone-a", 0.072, "0")}, "taint or selector"},
		{"a type that the pool excludes", func(p *bench.Problem) {
			p.Pools[0].Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
			}
		}, []bench.Machine{machine(cheapest, "zone-a", 0.072, "0")}, "cannot buy"},
		{"a host port twice", hostPort, []bench.Machine{machine(cheapest, "zone-a", 0.072, "0", "1")}, "host port 80"},
		{"anti-affinity on one host", antiAffinity, []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0", "1"),
		}, "against anti-affinity"},
		{"affinity in two zones", affinity, []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0"), machine(cheapest, "zone-b", 0.072, "1"),
		}, "2 separate domains"},
		{"a skew of two", spread, []bench.Machine{
			machine(cheapest, "zone-a", 0.072, "0", "1"), machine(cheapest, "zone-b", 0.072, "2"), machine(cheapest, "zone-a", 0.072, "3"),
		}, "skew 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := problem(4)
			if c.change != nil {
				c.change(p)
			}
			err := verdict(t, p, c.machines...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTopologyRulesThatHoldAreAccepted(t *testing.T) {
	p := problem(4)
	antiAffinity(p)
	accepted(t, p, machine(cheapest, "zone-a", 0.072, "0"), machine(cheapest, "zone-a", 0.072, "1"))
	p = problem(4)
	affinity(p)
	accepted(t, p, machine(cheapest, "zone-b", 0.072, "0", "1"), machine(cheapest, "zone-b", 0.072, "2", "3"))
	p = problem(4)
	spread(p)
	accepted(t, p, machine(cheapest, "zone-a", 0.072, "0", "1"), machine(cheapest, "zone-b", 0.072, "2", "3"))
}

func TestDaemonSetsTakeRoom(t *testing.T) {
	p := problem(3)
	two := machine(cheapest, "zone-a", 0.072, "0", "1", "2")
	accepted(t, p, two)
	p.DaemonSets = workload.Agents()
	if err := verdict(t, p, two); err == nil || !strings.Contains(err.Error(), "overcommitted") {
		t.Errorf("got %v, want overcommitted", err)
	}
}

// problem has n pods of 600m and 512Mi on one pool.
func problem(n int) *bench.Problem {
	p := workload.Workload{Pods: workload.Identical(n, 600, 512)}.Problem(fleet.Small(), 1)
	for i, pod := range p.Pods {
		pod.UID = types.UID(rune('0' + i))
		pod.Labels = map[string]string{"app": "a"}
	}
	return p
}

func machine(typ, zone string, price float64, pods ...types.UID) bench.Machine {
	return bench.Machine{Pool: "default", Type: typ, Zone: zone, CapacityType: "on-demand", Price: price, Pods: pods}
}

func hostPort(p *bench.Problem) {
	for _, pod := range p.Pods {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	}
}

func term(key string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selector()}}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
}

func antiAffinity(p *bench.Problem) {
	for _, pod := range p.Pods {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(corev1.LabelHostname),
		}}
	}
}

func affinity(p *bench.Problem) {
	for _, pod := range p.Pods {
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(corev1.LabelTopologyZone),
		}}
	}
}

func spread(p *bench.Problem) {
	for _, pod := range p.Pods {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector(),
		}}
	}
}

func accepted(t *testing.T, p *bench.Problem, machines ...bench.Machine) {
	t.Helper()
	if err := verdict(t, p, machines...); err != nil {
		t.Error(err)
	}
}

func verdict(t *testing.T, p *bench.Problem, machines ...bench.Machine) error {
	t.Helper()
	c, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return c.Outcome(&bench.Outcome{Machines: machines})
}
