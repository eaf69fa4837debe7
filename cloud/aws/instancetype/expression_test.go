package instancetype

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/cloud/aws/expression"
)

// expressive is a class with expressions, which the gate allows.
func expressive(pods string, kubelet ec2class.KubeletConfiguration, change ...func(*Class)) *Class {
	return class(append(change, func(c *Class) {
		c.Kubelet, c.Expressions = &kubelet, expression.New()
		if pods != "" {
			c.LaterKubelet = map[string]json.RawMessage{"maxPods": json.RawMessage(`"` + pods + `"`)}
		}
	})...)
}

// The expressions are mostly those of Karpenter's documentation; the figures follow by hand.
func TestExpressionsAreWorkedOutForEachType(t *testing.T) {
	infos := table(t)
	reserve := func(cpu, memory string) map[string]string { return map[string]string{"cpu": cpu, "memory": memory} }
	for _, tt := range []struct {
		name, typ string
		class     *Class
		want      string // cpu memory pods ephemeral-storage
	}{
		{"pods by interfaces", "m5.large", expressive("((default_enis - 1) * (ips_per_eni - 1)) + 2", ec2class.KubeletConfiguration{}), "1930m 6903Mi 20 17Gi"},
		{"pods by interfaces", "m5.24xlarge", expressive("((default_enis - 1) * (ips_per_eni - 1)) + 2", ec2class.KubeletConfiguration{}), "95690m 355262Mi 688 17Gi"},
		{"by the pods that there would be", "m5.large", expressive("min(110, max_pods)", ec2class.KubeletConfiguration{}), "1930m 6903Mi 29 17Gi"},
		{"by those, less a reserved interface", "m5.large", expressive("max_pods", ec2class.KubeletConfiguration{}, func(c *Class) { c.ReservedENIs = 1 }), "1930m 6903Mi 20 17Gi"},
		{"podsPerCore caps", "m5.large", expressive("110", ec2class.KubeletConfiguration{PodsPerCore: number(10)}), "1930m 6903Mi 20 17Gi"},
		{"a reserve by size", "c6a.4xlarge", expressive("", ec2class.KubeletConfiguration{
			KubeReserved: reserve("max(60, vcpus * 30)", "1Gi"), SystemReserved: reserve("0", "max(100, memory_mib / 64)"),
		}), "15520m 28674Mi 234 17Gi"},
		{"a reserve by the pods that the class says", "m5.large", expressive("20", ec2class.KubeletConfiguration{KubeReserved: reserve("60m", "11 * max_pods + 255")}), "1940m 6997Mi 20 17Gi"},
		{"rounded up", "m5.large", expressive("", ec2class.KubeletConfiguration{SystemReserved: reserve("vcpus", "vcpus")}), "1920m 6887Mi 29 17Gi"},
		{"of disk in GiB", "m5.large", expressive("", ec2class.KubeletConfiguration{SystemReserved: map[string]string{"ephemeral-storage": "vcpus"}}), "1930m 6903Mi 29 15Gi"},
		{"Windows", "m5.large", expressive("max_pods + vcpus", ec2class.KubeletConfiguration{}, func(c *Class) { c.Family = "Windows2022" }), "1930m 5590Mi 112 44Gi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			info := infos[tt.typ]
			if err := tt.class.Check([]Info{info}); err != nil {
				t.Fatal(err)
			}
			typ := Resolve(&info, tt.class, supply())
			if got := printed(typ.Allocatable(), corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage); got != tt.want {
				t.Errorf("%s: got %s, want %s", tt.typ, got, tt.want)
			}
		})
	}
}

// What a kubelet is told has no expression, and the class is left as it was.
func TestValuesTakeThePlaceOfExpressions(t *testing.T) {
	info := table(t)["m5.large"]
	c := expressive("vcpus * 10", ec2class.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "vcpus * 31", "pid": "max_pods * 100"}, PodsPerCore: number(50)})
	c.LaterKubelet["seccompDefault"] = json.RawMessage("true")
	on, err := c.On(&info)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal([]any{on.Kubelet, on.LaterKubelet})
	if want := `[{"maxPods":20,"podsPerCore":50,"kubeReserved":{"cpu":"70m","pid":"2000"}},{"seccompDefault":true}]`; err != nil || string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if len(c.terms()) != 3 || len(on.terms()) != 0 {
		t.Errorf("%d expressions have become %d", len(c.terms()), len(on.terms()))
	}
}

func TestAnExpressionThatCannotBeWorkedOutIsNamed(t *testing.T) {
	infos := table(t)
	list := []Info{infos["m5.xlarge"], infos["m5.large"]}
	reserved := func(text string) *Class {
		return expressive("", ec2class.KubeletConfiguration{SystemReserved: map[string]string{"memory": text}})
	}
	pods := func(text string) *Class { return expressive(text, ec2class.KubeletConfiguration{}) }
	off := pods("vcpus * 10")
	off.Expressions = nil
	for _, tt := range []struct {
		class        *Class
		reason, want string
	}{
		{off, "KubeletExpressionsDisabled", `spec.kubelet.maxPods: "vcpus * 10" is no number, and an expression only with the feature gate NodeClassCEL`},
		{pods("cpus * 10"), "KubeletExpressionInvalid", `spec.kubelet.maxPods: "cpus * 10" is neither a number nor an expression: undeclared reference to 'cpus' at 1:1`},
		{reserved("100mb"), "KubeletExpressionInvalid", `spec.kubelet.systemReserved.memory: "100mb" is neither a quantity nor an expression: Syntax error: extraneous input 'mb' expecting <EOF> at 1:4`},
		{pods("100 / (vcpus - 2)"), "KubeletExpressionEvaluationFailed", `spec.kubelet.maxPods: "100 / (vcpus - 2)" has no value for m5.large: division by zero`},
		{pods("vcpus - 3"), "KubeletExpressionEvaluationFailed", `spec.kubelet.maxPods: "vcpus - 3" is negative for m5.large: -1`},
		{pods("vcpus * 1000000000"), "KubeletExpressionEvaluationFailed", `spec.kubelet.maxPods: "vcpus * 1000000000" is more than 2147483647 for m5.xlarge: 4000000000`},
		{reserved("vcpus - 3"), "KubeletExpressionEvaluationFailed", `spec.kubelet.systemReserved.memory: "vcpus - 3" is negative for m5.large: -1`},
	} {
		err := tt.class.Check(list)
		var found *ExpressionError
		if !errors.As(err, &found) || found.Reason != tt.reason || err.Error() != tt.want {
			t.Errorf("got %v, want %s: %s", err, tt.reason, tt.want)
		}
		if i := slices.IndexFunc(list, func(i Info) bool { typ := Resolve(&i, tt.class, supply()); return typ == nil }); i >= 0 {
			t.Errorf("%s of a machine that is there is not described", list[i].Name)
		}
	}
}
