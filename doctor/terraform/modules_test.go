package terraform_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/doctor"
)

// planned is what Terraform plans of terraform-aws-eks v20.37.2 and its module for Karpenter, cut
// down to the resources that are examined: a node group with a taint, five add-ons.
func planned(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The second plan is of the first one's module with the fixes pasted into its input.
func TestThePlanOfTheEKSModuleIsMendedByItsInput(t *testing.T) {
	found, set := examine(t, planned(t, "testdata/eks-module.json"), "nowhere-to-run")
	if len(found) != 2 || found[0].Object.Name != "coredns" || found[0].Severity != doctor.Error || found[1].Object.Name != "ebs-csi-controller" {
		t.Fatalf("%+v", found)
	}
	fixes, err := set.Fixes(found)
	if err != nil {
		t.Fatal(err)
	}
	mended := planned(t, "testdata/eks-module-mended.json")
	for _, fix := range fixes {
		value, err := argumentOf(fix.Text, "configuration_values")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(fix.Do, "in module.eks, by the input addons") || !has(t, mended, value) {
			t.Errorf("%s: the plan has no add-on of configuration %v", fix.Do, value)
		}
	}
	if left, _ := examine(t, mended, "nowhere-to-run"); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

// has reports whether an add-on of a plan has a configuration.
func has(t *testing.T, plan []byte, configuration any) bool {
	t.Helper()
	text, err := json.Marshal(configuration)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(plan, quoted)
}

// named is a class whose role is a plan's.
func named(role string) m {
	return resource("kubernetes_manifest.class", m{"manifest": m{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": m{"name": "default"}, "spec": m{"role": role},
	}})
}

func TestTheRoleOfTheKarpenterModuleIsOfUse(t *testing.T) {
	var plan m
	if err := json.Unmarshal(planned(t, "testdata/eks-module.json"), &plan); err != nil {
		t.Fatal(err)
	}
	root := plan["planned_values"].(m)["root_module"].(m)
	root["resources"] = []any{named("KarpenterNodeRole-live")}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := examine(t, text, "role-unusable"); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	const worker = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
	if found, _ := examine(t, bytes.ReplaceAll(text, []byte(worker), []byte("arn:aws:iam::aws:policy/Other")), "role-unusable"); len(found) != 1 || !strings.Contains(found[0].Message, "lacks AmazonEKSWorkerNodePolicy") {
		t.Errorf("%+v", found)
	}
}

func TestRolesAreMendedBesideTheirResources(t *testing.T) {
	trust := func(services ...any) string {
		text, err := json.Marshal(m{"Version": "2012-10-17", "Statement": []any{m{"Effect": "Allow", "Principal": m{"Service": services}, "Action": "sts:AssumeRole"}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	attached := func(policy string) m {
		return resource("aws_iam_role_policy_attachment.a", m{"role": "nodes", "policy_arn": "arn:aws-cn:iam::aws:policy/" + policy})
	}
	role := func(trust string) m {
		return resource("aws_iam_role.nodes", m{"name": "nodes", "assume_role_policy": trust})
	}
	found, _ := examine(t, planOf("planned_values", named("nodes"), role(trust("eks.amazonaws.com")), attached("AmazonEKS_CNI_Policy")), "role-unusable")
	if len(found) != 2 || found[0].Fix == nil || found[1].Fix == nil {
		t.Fatalf("%+v", found)
	}
	policies, err := argumentOf(strings.ReplaceAll(found[1].Fix.Text, "for_each   = toset(", "for_each = "), "for_each")
	if err != nil {
		t.Fatal(err)
	}
	if want := []any{"arn:aws-cn:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly", "arn:aws-cn:iam::aws:policy/AmazonEKSWorkerNodePolicy"}; !reflect.DeepEqual(policies, want) {
		t.Errorf("%v", policies)
	}
	document, err := argumentOf(found[0].Fix.Text, "assume_role_policy")
	if err != nil {
		t.Fatal(err)
	}
	mended, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	good := planOf("planned_values", named("nodes"), role(string(mended)), attached("AmazonEKSWorkerNodePolicy"), attached("AmazonEC2ContainerRegistryPullOnly"))
	if left, _ := examine(t, good, "role-unusable"); len(left) > 0 {
		t.Errorf("%+v", left)
	}
	own := planOf("planned_values", named("nodes"), role(trust("ec2.amazonaws.com")), attached("AmazonEKS_CNI_Policy"), resource("aws_iam_role_policy.own", m{"role": "nodes"}))
	if left, _ := examine(t, own, "role-unusable"); len(left) > 0 {
		t.Errorf("a policy of its own is judged: %+v", left)
	}
	empty := planOf("planned_values", with(named(""), m{"instanceProfile": "p"}), resource("aws_iam_instance_profile.p", m{"name": "p", "role": "nodes"}), role(trust("eks.amazonaws.com")))
	if left, _ := examine(t, empty, "role-unusable"); len(left) != 1 || left[0].Field != "spec.instanceProfile" {
		t.Errorf("%+v", left)
	}
}

// with is a class with another spec.
func with(class, spec m) m {
	class["values"].(m)["manifest"].(m)["spec"] = spec
	return class
}
