package terraform_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
)

// blueprints is a plan of the module EKS Blueprints Addons in its shape: add-ons beside rules, and
// a module below for each release and for each queue. The release is of the fixtures' chart.
func blueprints(t *testing.T, retention int, coredns string, values ...string) []byte {
	t.Helper()
	below := func(name string, resources ...any) any {
		return m{"address": "module.eks_blueprints_addons.module." + name, "resources": resources}
	}
	in := func(address, kind string, values m) any {
		r := resource("x.x", values)
		r["address"], r["type"] = "module.eks_blueprints_addons."+address, kind
		return r
	}
	rule := func(label, pattern string) any {
		return in("aws_cloudwatch_event_rule."+label, "aws_cloudwatch_event_rule", m{"event_pattern": pattern})
	}
	text, err := json.Marshal(m{"format_version": "1.2", "planned_values": m{"root_module": m{
		"resources": []any{
			pool(t),
			resource("aws_eks_node_group.system", m{"node_group_name": "system", "taint": []any{m{"key": "dedicated", "value": "system", "effect": "NO_SCHEDULE"}}}),
		},
		"child_modules": []any{m{
			"address": "module.eks_blueprints_addons",
			"resources": []any{
				in(`aws_eks_addon.this["coredns"]`, "aws_eks_addon", m{"cluster_name": "live", "addon_name": "coredns", "configuration_values": coredns}),
				rule(`karpenter["health_event"]`, `{"source":["aws.health"],"detail-type":["AWS Health Event"]}`),
				rule(`karpenter["spot_interrupt"]`, `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`),
				rule(`karpenter["instance_rebalance"]`, `{"source":["aws.ec2"],"detail-type":["EC2 Instance Rebalance Recommendation"]}`),
				rule(`karpenter["instance_state_change"]`, `{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"]}`),
				rule(`aws_node_termination_handler["spot_interrupt"]`, `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`),
			},
			"child_modules": []any{
				below("karpenter_sqs", in("module.karpenter_sqs.aws_sqs_queue.this[0]", "aws_sqs_queue", m{"name": "karpenter-live", "message_retention_seconds": retention, "visibility_timeout_seconds": 60})),
				below("driver", in("module.driver.helm_release.this[0]", "helm_release", m{"name": "driver", "namespace": "kube-system", "chart": "chart", "repository": "https://charts.example.com", "values": values})),
			},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Each fix names the input of the module that leads to what was planned, and mends it.
func TestThePlanOfEKSBlueprintsIsMendedByItsInputs(t *testing.T) {
	one := func(plan []byte, check string) doctor.Finding {
		found, _ := examine(t, plan, check)
		if len(found) != 1 || found[0].Fix == nil {
			t.Fatalf("%s: %+v", check, found)
		}
		return found[0]
	}
	none := func(plan []byte, check string) {
		if found, _ := examine(t, plan, check); len(found) > 0 {
			t.Errorf("there is still %+v", found)
		}
	}
	const bad = "agent: {enabled: true, tolerations: [{key: dedicated, operator: Exists}]}"
	tolerant := "controller: {tolerations: [{key: dedicated, operator: Exists}]}"
	dns := one(blueprints(t, 300, "", tolerant), "nowhere-to-run")
	configuration, err := argumentOf(dns.Fix.Text, "configuration_values")
	if err != nil || !strings.Contains(dns.Fix.Do, "in module.eks_blueprints_addons, by the input addons (") || !strings.Contains(dns.Fix.Do, "eks_addons of EKS Blueprints") {
		t.Fatalf("%v: %s", err, dns.Fix.Do)
	}
	text, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	none(blueprints(t, 300, string(text), tolerant), "nowhere-to-run")

	agent := one(blueprints(t, 300, "", bad), "agent-shut-out")
	values, err := argumentOf(agent.Fix.Text, "values")
	if want := "in module.eks_blueprints_addons, by the input driver of EKS Blueprints, after the 1 values that it has"; err != nil || agent.Fix.Do != want || !strings.HasPrefix(agent.Fix.Text, "driver = {\n") {
		t.Fatalf("%v: %s\n%s", err, agent.Fix.Do, agent.Fix.Text)
	}
	further, err := yaml.Marshal(values.([]any)[0])
	if err != nil {
		t.Fatal(err)
	}
	none(blueprints(t, 300, "", bad, string(further)), "agent-shut-out")

	queue := one(blueprints(t, 60, ""), "queue-forgets")
	if queue.Object.Name != "module.eks_blueprints_addons.module.karpenter_sqs.aws_sqs_queue.this[0]" {
		t.Errorf("of %s", queue.Object)
	}
	none(blueprints(t, 300, ""), "queue-forgets")
	if deaf, _ := examine(t, blueprints(t, 300, ""), "queue-deaf"); len(deaf) > 1 || len(deaf) == 1 && strings.Contains(deaf[0].Message, "Rebalance") {
		t.Errorf("rules of the module above are not heard: %+v", deaf)
	}
}
