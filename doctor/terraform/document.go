package terraform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/addon"
	"github.com/millwright-dev/millwright/doctor/helm"
	"github.com/millwright-dev/millwright/doctor/source"
)

// Document is what bears on nodes in a plan or a state.
type Document struct {
	Addons   []addon.Addon
	Releases []Release
	// Sources are manifests; each generates one object.
	Sources []*source.Source
	// Groups are those of aws_eks_node_group, and Fargate's nodes by aws_eks_fargate_profile.
	Groups []doctor.NodeGroup

	events   map[string]*events // by module
	roles    []role
	attached []attachment
	profiles []account.Profile
}

// Release is a helm_release.
type Release struct {
	Address string
	// Chart is the chart's name, or its path if there is no Repository.
	Chart, Repository, Version string
	// Install is the chart with what is set; its Path is empty.
	Install helm.Chart
	// Unknown says that its values are known only after an apply.
	Unknown bool
}

// Read reads a plan or a state.
func Read(r io.Reader) (*Document, error) {
	d := &Document{}
	readers := map[string]func(Resource) error{
		"aws_eks_addon": d.addon, "helm_release": d.release,
		"kubernetes_manifest": d.manifest, "kubectl_manifest": d.text,
		"aws_eks_node_group": d.group, "aws_eks_fargate_profile": d.fargate,
		"aws_iam_role": d.role, "aws_iam_role_policy_attachment": d.attachment, "aws_iam_role_policy": d.inline, "aws_iam_instance_profile": d.profile,
		"aws_sqs_queue": d.queue, "aws_sqs_queue_policy": d.policy, "aws_cloudwatch_event_rule": d.rule,
	}
	err := walk(r, func(r Resource) error {
		if read := readers[r.Type]; read != nil {
			return read(r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (r Resource) decode(into any) error {
	if len(r.Values) == 0 {
		return nil
	}
	if err := decode.JSON(r.Values, into); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	return nil
}

// mapping reads YAML as Helm does; of what is none it says as [decode.JSON] does what there is.
func mapping(text string) (out map[string]any, err error) {
	if err = yaml.Unmarshal([]byte(text), &out); err != nil {
		if raw, broken := yaml.YAMLToJSON([]byte(text)); broken == nil {
			err = decode.JSON(raw, &out)
		}
	}
	return out, err
}

func (d *Document) addon(r Resource) error {
	var v struct {
		ClusterName   string `json:"cluster_name"`
		AddonName     string `json:"addon_name"`
		AddonVersion  string `json:"addon_version"`
		Configuration string `json:"configuration_values"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	d.Addons = append(d.Addons, addon.Addon{
		Cluster: v.ClusterName, Name: v.AddonName, Version: v.AddonVersion, Configuration: v.Configuration, Address: r.Address, Write: addonFix(r.Address, v.AddonName),
	})
	return nil
}

// set is one value of helm_release's set. A Value that is not known before an apply, such as a name
// or an ARN, is missing.
type set struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// setting is what Helm is told of it.
func (s set) setting() (helm.Setting, error) {
	value := "known-after-apply"
	if len(s.Value) > 0 {
		value = ""
		if err := decode.JSON(s.Value, &value); err != nil {
			return helm.Setting{}, fmt.Errorf("set %s: %w", s.Name, err)
		}
	}
	return helm.Setting{Text: s.Name + "=" + value, String: s.Type == "string"}, nil
}

func (d *Document) release(r Resource) error {
	var v struct {
		Name       string          `json:"name"`
		Namespace  string          `json:"namespace"`
		Chart      string          `json:"chart"`
		Repository string          `json:"repository"`
		Version    string          `json:"version"`
		Values     json.RawMessage `json:"values"`
		Set        []set           `json:"set"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	var values []*string // nil is what is not known before an apply
	if len(v.Values) > 0 {
		if err := decode.JSON(v.Values, &values); err != nil {
			return fmt.Errorf("values: %w", err)
		}
	}
	out := Release{Address: r.Address, Chart: v.Chart, Repository: v.Repository, Version: v.Version, Unknown: len(v.Values) == 0 || slices.Contains(values, nil)}
	if out.Unknown {
		d.Releases = append(d.Releases, out)
		return nil
	}
	out.Install = helm.Chart{Release: v.Name, Namespace: v.Namespace, Set: map[string]any{}}
	for i, text := range values {
		merged, err := mapping(*text)
		if err != nil {
			return fmt.Errorf("values[%d]: %w", i, err)
		}
		out.Install.Set = source.Merge(out.Install.Set, merged)
	}
	for _, s := range v.Set {
		setting, err := s.setting()
		if err != nil {
			return err
		}
		out.Install.Settings = append(out.Install.Settings, setting)
	}
	out.Install.Write = releaseFix(r.Address, len(values), out.Install.Settings)
	d.Releases = append(d.Releases, out)
	return nil
}

// effects are those of taints as EKS writes them.
var effects = map[string]corev1.TaintEffect{
	"NO_SCHEDULE": corev1.TaintEffectNoSchedule, "NO_EXECUTE": corev1.TaintEffectNoExecute, "PREFER_NO_SCHEDULE": corev1.TaintEffectPreferNoSchedule,
}

func (d *Document) group(r Resource) error {
	var v struct {
		Name   string            `json:"node_group_name"`
		Prefix string            `json:"node_group_name_prefix"`
		Labels map[string]string `json:"labels"`
		Taint  []struct {
			Key    string `json:"key"`
			Value  string `json:"value"`
			Effect string `json:"effect"`
		} `json:"taint"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	g := doctor.NodeGroup{Name: "node group " + cmp.Or(v.Name, strings.TrimSuffix(v.Prefix, "-"), r.Address), Labels: map[string]string{"kubernetes.io/os": "linux"}}
	maps.Copy(g.Labels, v.Labels)
	for _, t := range v.Taint {
		g.Taints = append(g.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: effects[t.Effect]})
	}
	d.Groups = append(d.Groups, g)
	return nil
}

func (d *Document) fargate(r Resource) error {
	var v struct {
		Name     string `json:"fargate_profile_name"`
		Selector []struct {
			Namespace string `json:"namespace"`
		} `json:"selector"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	g := doctor.NodeGroup{Name: "Fargate profile " + cmp.Or(v.Name, r.Address), Labels: map[string]string{"kubernetes.io/os": "linux", doctor.FargateLabel: "fargate"}}
	for _, s := range v.Selector {
		g.Namespaces = append(g.Namespaces, s.Namespace)
	}
	d.Groups = append(d.Groups, g)
	return nil
}

func (d *Document) manifest(r Resource) error {
	var v struct {
		Manifest map[string]any `json:"manifest"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	return d.object(r.Address, v.Manifest, manifestFix(r.Address, "manifest"))
}

func (d *Document) text(r Resource) error {
	var v struct {
		Body string `json:"yaml_body"`
	}
	if err := r.decode(&v); err != nil {
		return err
	}
	object, err := mapping(v.Body)
	if err != nil {
		return fmt.Errorf("yaml_body: %w", err)
	}
	return d.object(r.Address, object, func(change map[string]any) (*doctor.Fix, error) {
		text, err := yaml.Marshal(change)
		if err != nil {
			return nil, fmt.Errorf("writing YAML: %w", err)
		}
		return &doctor.Fix{Form: "Terraform", Do: "in " + r.Address + ", merged into the YAML of its yaml_body", Text: string(text), File: fileOf(r.Address)}, nil
	})
}

// object is a source of one object, whose values are the object itself.
func (d *Document) object(address string, o map[string]any, write func(map[string]any) (*doctor.Fix, error)) error {
	if len(o) == 0 {
		return nil // not known before the apply
	}
	src := &source.Source{Name: "Terraform " + address, Values: o, All: o, Object: true, Write: write}
	src.Render = func(values map[string]any) ([]client.Object, error) {
		raw, err := json.Marshal(source.Defined(values))
		if err != nil {
			return nil, fmt.Errorf("writing a manifest: %w", err)
		}
		typed, err := doctor.Decode(raw, "default")
		if err != nil || typed == nil {
			return nil, err
		}
		return []client.Object{typed}, nil
	}
	if _, err := src.Render(o); err != nil {
		return err
	}
	d.Sources = append(d.Sources, src)
	return nil
}
