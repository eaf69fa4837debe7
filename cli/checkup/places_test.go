package checkup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/checkup"
	"github.com/millwright-dev/millwright/doctor"
)

const tainted = `{"planned_values": {"root_module": {
  "resources": [
    {"address": "aws_eks_node_group.system", "mode": "managed", "type": "aws_eks_node_group", "values": {"node_group_name": "system", "taint": [{"key": "dedicated", "value": "x", "effect": "NO_SCHEDULE"}]}},
    {"address": "aws_eks_addon.csi", "mode": "managed", "type": "aws_eks_addon", "values": {"addon_name": "aws-ebs-csi-driver"}}],
  "child_modules": [{"address": "module.eks", "resources": [
    {"address": "module.eks.aws_eks_addon.this[\"coredns\"]", "mode": "managed", "type": "aws_eks_addon", "values": {"addon_name": "coredns"}}]}]}}}`

const written = `module "eks" {
  source = "terraform-aws-modules/eks/aws"
  addons = {
    vpc-cni = {}
    coredns = {}
  }
}

resource "aws_eks_addon" "csi" {
  addon_name = "aws-ebs-csi-driver"
}
`

func TestFindingsAreAtTheLinesOfTerraformsFilesAndOfValues(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	values := filepath.Join(dir, "values.yaml")
	for file, text := range map[string]string{
		plan: tainted, filepath.Join(dir, "main.tf"): written,
		values: "# ours\ncontroller:\n  replicas: 3\nagent:\n  enabled: true\n  tolerations: []\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !json.Valid([]byte(tainted)) {
		t.Fatal("the plan is no JSON")
	}
	o := checkup.Options{Given: checkup.Given{Terraform: []string{plan}, Charts: checkup.Charts{{Path: "../../doctor/helm/testdata/chart", Values: []string{values}, Release: "fixture"}}}}
	found, in, err := o.Examine(t.Context(), checkup.Readers{Manifests: manifests, Warn: func(string, ...any) {}}, noon, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range found {
		got[f.Object.Name] = strings.TrimPrefix(in.Where(f), dir+"/")
	}
	for object, want := range map[string]string{"coredns": "main.tf:5", "ebs-csi-controller": "main.tf:9", "fixture-node": "values.yaml:4"} {
		if got[object] != want {
			t.Errorf("%s is at %q, want %s", object, got[object], want)
		}
	}
	if at := in.Where(doctor.Finding{}); at != "" {
		t.Errorf("what is nowhere is at %s", at)
	}
}
