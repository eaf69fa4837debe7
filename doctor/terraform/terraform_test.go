package terraform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/doctortest"
	"github.com/millwright-dev/millwright/doctor/source"
	"github.com/millwright-dev/millwright/doctor/terraform"
)

type m = map[string]any

// planOf is a plan, or a state, of resources.
func planOf(key string, resources ...any) []byte {
	text, err := json.Marshal(m{
		"format_version": "1.2", "terraform_version": "1.13.4",
		"resource_changes": []any{m{"address": "x", "change": m{"after": m{"root_module": "none"}}}},
		key:                m{"root_module": m{"resources": resources}},
	})
	if err != nil {
		panic(err)
	}
	return text
}

func resource(address string, values m) m {
	_, kind, _ := strings.Cut("."+address, ".")
	kind, _, _ = strings.Cut(kind, ".")
	return m{"address": address, "mode": "managed", "type": kind, "provider_name": "registry.terraform.io/x/y", "schema_version": 0, "values": values}
}

func manifests(t *testing.T, file string) []m {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []m
	for _, doc := range strings.Split(string(text), "---\n") {
		var o m
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func examine(t *testing.T, plan []byte, check string) ([]doctor.Finding, *source.Set) {
	t.Helper()
	doc, err := terraform.Read(bytes.NewReader(plan))
	if err != nil {
		t.Fatal(err)
	}
	set := &source.Set{}
	in := doctor.New(add(t, doc, set), true)
	in.Add(doc.Groups...)
	if in.Queues, err = doc.Queues(); err != nil {
		t.Fatal(err)
	}
	if in.Account, err = doc.Account(); err != nil {
		t.Fatal(err)
	}
	found := doctor.Examine(in)
	found = slices.DeleteFunc(found, func(f doctor.Finding) bool { return f.Check != check })
	if err := set.Mend(found); err != nil {
		t.Fatal(err)
	}
	return found, set
}

// add adds all that is known of a document.
func add(t *testing.T, doc *terraform.Document, set *source.Set) []client.Object {
	t.Helper()
	sources := slices.Clone(doc.Sources)
	for _, a := range doc.Addons {
		src, err := a.Source()
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	for _, r := range doc.Releases {
		r.Install.Path = "../helm/testdata/" + r.Chart
		src, err := r.Install.Source()
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	var out []client.Object
	for _, src := range sources {
		objects, err := set.Add(src)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, objects...)
	}
	return out
}

// Of every check, of plans and states, as kubernetes_manifest and kubectl_manifest: bad
// manifests are found, good ones are not, and the arguments of the fix mend what a patch would.
func TestManifestsAreExaminedByEveryCheckAndMended(t *testing.T) {
	for of, form := range map[doctortest.Form]struct {
		key, kind, argument string
	}{doctortest.Plan: {"planned_values", "kubernetes_manifest", "manifest"}, doctortest.State: {"values", "kubectl_manifest", "yaml_body"}} {
		for _, check := range doctortest.Checks(of) {
			t.Run(check+" "+form.kind, func(t *testing.T) {
				bad := manifests(t, filepath.Join("../testdata", check, "bad.yaml"))
				found, set := examine(t, written(t, form.key, form.kind, bad), check)
				if len(found) == 0 {
					t.Fatal("nothing is found")
				}
				if left, _ := examine(t, written(t, form.key, form.kind, manifests(t, filepath.Join("../testdata", check, "good.yaml"))), check); len(left) > 0 {
					t.Errorf("the good manifests: %+v", left)
				}
				fixes, err := set.Fixes(found)
				if err != nil {
					t.Fatal(err)
				}
				for _, fix := range fixes {
					var i int
					if _, err := fmt.Sscanf(fix.File, form.kind+"_r%d.tf.txt", &i); err != nil {
						t.Fatalf("%s: %v", fix.File, err)
					}
					bad[i] = source.Merge(bad[i], changeOf(t, fix, form.argument))
				}
				left, _ := examine(t, written(t, form.key, form.kind, bad), check)
				if slices.ContainsFunc(left, func(f doctor.Finding) bool { return f.Patch != nil && len(f.Patch.Steps) > 0 }) {
					t.Errorf("there is still %+v", left)
				}
			})
		}
	}
}

func written(t *testing.T, key, kind string, objects []m) []byte {
	t.Helper()
	var resources []any
	for i, o := range objects {
		values := m{"manifest": o}
		if kind == "kubectl_manifest" {
			text, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			values = m{"yaml_body": string(text)}
		}
		resources = append(resources, resource(fmt.Sprintf("%s.r%d", kind, i), values))
	}
	return planOf(key, resources...)
}

func changeOf(t *testing.T, fix *doctor.Fix, argument string) m {
	t.Helper()
	if argument == "yaml_body" {
		var out m
		if err := yaml.Unmarshal([]byte(fix.Text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	value, err := argumentOf(fix.Text, argument)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := value.(m)
	return out
}

// pool is a plan's pool that only tolerating pods run on.
func pool(t *testing.T) m {
	t.Helper()
	return resource("kubernetes_manifest.pool", m{"manifest": manifests(t, "../testdata/agent-shut-out/pool.yaml")[0]})
}

func ebs(configuration string) m {
	return m{"cluster_name": "live", "addon_name": "aws-ebs-csi-driver", "addon_version": "v1.40.0-eksbuild.1", "configuration_values": configuration}
}

func TestAnAddonIsMendedInItsResourceOrInTheInputOfItsModule(t *testing.T) {
	const bad = `{"node":{"tolerateAllTaints":false,"tolerations":[{"key":"a.b/c","operator":"Exists"}]}}`
	inModule := m{"child_modules": []any{m{"address": "module.eks", "resources": []any{resource(`module.eks.aws_eks_addon.this["aws-ebs-csi-driver"]`, ebs(bad))}}}}
	inModule["child_modules"].([]any)[0].(m)["resources"].([]any)[0].(m)["type"] = "aws_eks_addon"
	inModule["resources"] = []any{pool(t)}
	nested, err := json.Marshal(m{"planned_values": m{"root_module": inModule}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		plan     []byte
		do, want string
	}{
		"a resource": {planOf("planned_values", pool(t), resource("aws_eks_addon.ebs", ebs(bad))), "in the resource aws_eks_addon.ebs", `resource "aws_eks_addon" "ebs" {
  configuration_values = jsonencode({
    node = {
      tolerateAllTaints = false
      tolerations = [
        {
          key = "a.b/c"
          operator = "Exists"
        },
        {
          effect = "NoSchedule"
          key = "nvidia.com/gpu"
          operator = "Exists"
        },
      ]
    }
  })
}
`},
		"a module": {nested, "in module.eks, by the input addons (cluster_addons before version 21 of the EKS module, eks_addons of EKS Blueprints)", `addons = {
  aws-ebs-csi-driver = {
    configuration_values = jsonencode({
      node = {
        tolerateAllTaints = false
        tolerations = [
          {
            key = "a.b/c"
            operator = "Exists"
          },
          {
            effect = "NoSchedule"
            key = "nvidia.com/gpu"
            operator = "Exists"
          },
        ]
      }
    })
  }
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			found, _ := examine(t, test.plan, "agent-shut-out")
			if len(found) != 1 || found[0].Fix == nil {
				t.Fatalf("%+v", found)
			}
			if fix := found[0].Fix; fix.Do != test.do || fix.Text != test.want {
				t.Errorf("%s:\n%s", fix.Do, fix.Text)
			}
			value, err := argumentOf(found[0].Fix.Text, "configuration_values")
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if left, _ := examine(t, planOf("values", pool(t), resource("aws_eks_addon.ebs", ebs(string(text)))), "agent-shut-out"); len(left) > 0 {
				t.Errorf("with %s there is still %+v", text, left)
			}
		})
	}
}

// The node group that keeps everything off that does not tolerate its taint.
func TestATaintedNodeGroupKeepsAddonsOut(t *testing.T) {
	plan := func(coredns, csi string) []byte {
		return planOf("planned_values",
			resource("aws_eks_node_group.system", m{"node_group_name": nil, "node_group_name_prefix": "system-", "labels": m{"role": "system"}, "taint": []any{m{"key": "dedicated", "value": "system", "effect": "NO_SCHEDULE"}}}),
			resource("aws_eks_addon.coredns", m{"cluster_name": "live", "addon_name": "coredns", "configuration_values": coredns}),
			resource("aws_eks_addon.csi", ebs(csi)),
			resource("kubernetes_manifest.pool", m{"manifest": manifests(t, "../testdata/protected-for-ever/good.yaml")[0]}),
		)
	}
	found, set := examine(t, plan("", ""), "nowhere-to-run")
	if len(found) != 2 || found[0].Severity != doctor.Error || !strings.Contains(found[0].Message, "lack dedicated=system:NoSchedule of node group system: DNS waits") || found[1].Object.Name != "ebs-csi-controller" {
		t.Fatalf("%+v", found)
	}
	fixes, err := set.Fixes(found)
	if err != nil {
		t.Fatal(err)
	}
	configuration := map[string]string{}
	for _, fix := range fixes {
		value, err := argumentOf(fix.Text, "configuration_values")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		configuration[fix.File] = string(text)
	}
	if left, _ := examine(t, plan(configuration["aws_eks_addon_coredns.tf.txt"], configuration["aws_eks_addon_csi.tf.txt"]), "nowhere-to-run"); len(left) > 0 {
		t.Errorf("with %v there is still %+v", configuration, left)
	}
}

// Of what is not known before an apply a plan has null in a list, and nothing in an object.
func TestAReleaseWhoseValuesAreNotKnownYetIsNotExamined(t *testing.T) {
	release := func(values any, set ...any) m {
		return resource("helm_release.driver", m{"name": "driver", "chart": "chart", "values": values, "set": set})
	}
	mended := "agent: {tolerations: [{operator: Exists}]}"
	unknown := release(nil)
	delete(unknown["values"].(m), "values")
	for name, row := range map[string]struct {
		release m
		unknown bool
	}{
		"all values": {unknown, true}, "one of them": {release([]any{mended, nil}), true}, "none": {release([]any{mended}), false},
		"one that is set": {release([]any{mended}, m{"name": "controller.podAnnotations.role", "type": nil}), false},
	} {
		plan := planOf("planned_values", pool(t), row.release)
		doc, err := terraform.Read(bytes.NewReader(plan))
		if err != nil || len(doc.Releases) != 1 || doc.Releases[0].Unknown != row.unknown {
			t.Errorf("unknown is %s: %+v, %v", name, doc, err)
		}
		if row.unknown {
			continue
		}
		if found, _ := examine(t, plan, "agent-shut-out"); len(found) > 0 {
			t.Errorf("unknown is %s: %+v", name, found)
		}
	}
}

// A Fargate profile takes the pods of its namespaces, whatever they tolerate.
func TestAFargateProfileTakesAddonsThatANodeGroupShutsOut(t *testing.T) {
	for namespace, want := range map[string]int{"kube-system": 0, "kube-*": 0, "karpenter": 2} {
		found, _ := examine(t, planOf("planned_values",
			resource("aws_eks_node_group.gpu", m{"node_group_name": "gpu", "taint": []any{m{"key": "nvidia.com/gpu", "value": "", "effect": "NO_SCHEDULE"}}}),
			resource("aws_eks_fargate_profile.system", m{"fargate_profile_name": "system", "selector": []any{m{"namespace": namespace}}}),
			resource("aws_eks_addon.coredns", m{"cluster_name": "live", "addon_name": "coredns"}),
			resource("aws_eks_addon.csi", ebs("")),
		), "nowhere-to-run")
		if len(found) != want {
			t.Errorf("with a profile of %s: %+v", namespace, found)
		}
	}
}

func TestAReleaseIsMendedByFurtherValues(t *testing.T) {
	var set []any
	release := func(values ...string) []byte {
		return planOf("planned_values", pool(t), resource("helm_release.driver", m{
			"name": "driver", "namespace": "kube-system", "chart": "chart", "repository": "https://charts.example.com", "version": "1.0.0",
			"values": values, "set": append(set, m{"name": "agent.enabled", "value": "true", "type": ""}, m{"name": `controller.podAnnotations.example\.com/a`, "value": "1", "type": "string"}),
		}))
	}
	found, _ := examine(t, release("agent: {tolerations: []}"), "agent-shut-out")
	if len(found) != 1 || found[0].Fix == nil || found[0].Object.String() != "daemonset/driver-node -n kube-system" {
		t.Fatalf("%+v", found)
	}
	if want := "in the resource helm_release.driver, after the 1 that it has"; found[0].Fix.Do != want {
		t.Error(found[0].Fix.Do)
	}
	values, err := argumentOf(found[0].Fix.Text, "values")
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(values.([]any)[0])
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := examine(t, release("agent: {tolerations: []}", string(text)), "agent-shut-out"); len(left) > 0 {
		t.Errorf("with %s there is still %+v", text, left)
	}
	set = []any{m{"name": "podDisruptionBudget.minAvailable", "value": "2", "type": ""}} // wins over values
	found, _ = examine(t, release("podDisruptionBudget: {enabled: true}"), "pdb-allows-none")
	if want := "after the 1 that it has, and without its set of podDisruptionBudget.minAvailable"; len(found) != 1 || !strings.HasSuffix(found[0].Fix.Do, want) {
		t.Errorf("%+v", found)
	}
}

// counting is a document of which it is known how much was read.
type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestADocumentIsReadAsAStream(t *testing.T) {
	const first = `{"format_version":"1.2","planned_values":{"root_module":{"resources":[{"address":"kubernetes_manifest.broken","mode":"managed","type":"kubernetes_manifest","values":{"manifest":{"apiVersion":"apps/v1","kind":"DaemonSet","spec":1}}}`
	rest := strings.Repeat(`,{"address":"aws_iam_role.x","mode":"managed","type":"aws_iam_role","values":{"name":"x"}}`, 10_000)
	c := &counting{r: strings.NewReader(first + rest + "]}}}")}
	_, err := terraform.Read(c)
	if err == nil || !strings.Contains(err.Error(), "kubernetes_manifest.broken: DaemonSet: ") {
		t.Errorf("the error is %v", err)
	}
	if c.n > len(first)+64<<10 {
		t.Errorf("%d bytes were read to find what the first %d say", c.n, len(first))
	}
}

func TestGarbageGetsAMessage(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "the document ends too early: neither a plan nor a state",
		"not JSON":                             "not what terraform show -json prints: ",
		"[]":                                   "neither a plan nor a state; want what terraform show -json prints",
		"{}":                                   "neither a plan nor a state",
		`{"format_version":"2.0"}`:             `format_version is "2.0": known are 0.x and 1.x`,
		`{"format_version":1}`:                 "format_version is 1: known are 0.x and 1.x",
		`{"planned_values":{},"errored":true}`: "the plan failed, and lacks what comes after the failure",
		`{"planned_values":`:                   "the document ends too early",
		`{"planned_values":[]}`:                "neither a plan nor a state",
		string(planOf("values", resource("helm_release.x", m{"values": []string{"["}}))):                      "helm_release.x: values[0]: ",
		string(planOf("values", resource("kubectl_manifest.x", m{"yaml_body": "["}))):                         "kubectl_manifest.x: yaml_body: ",
		string(planOf("values", resource("aws_eks_addon.x", m{"addon_name": 1}))):                             "aws_eks_addon.x: values: addon_name: want a string, got the number 1",
		string(planOf("values", resource("helm_release.x", m{"values": []string{"- a"}}))):                    "helm_release.x: values[0]: want an object, got a list",
		string(planOf("values", resource("helm_release.x", m{"values": []int{1}}))):                           "helm_release.x: values: [0]: want a string, got the number 1",
		string(planOf("values", resource("aws_cloudwatch_event_rule.x", m{"event_pattern": `{"source":1}`}))): "aws_cloudwatch_event_rule.x: event_pattern: source: want a list, got the number 1",
		`{"values":{"root_module":{"resources":[{"address":1}]}}}`:                                            "not what terraform show -json prints: address is of type number",
	} {
		if _, err := terraform.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	if doc, err := terraform.Read(strings.NewReader(`{"format_version":"1.0"}`)); err != nil || len(doc.Addons) > 0 {
		t.Errorf("an empty state: %v", err)
	}
}
