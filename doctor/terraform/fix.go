package terraform

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/helm"
)

// inModule parts an address such as module.eks.aws_eks_addon.this["coredns"] into the module,
// the resource and the key.
var inModule = regexp.MustCompile(`^(?:(module\..*)\.)?([a-z0-9_]+\.[A-Za-z0-9_-]+)(?:\[(.+)\])?$`)

func split(address string) (module, resource, key string) {
	m := inModule.FindStringSubmatch(address)
	if m == nil {
		return "", address, ""
	}
	return m[1], m[2], strings.Trim(m[3], `"`)
}

// fileOf is what the fix of a resource is called.
func fileOf(address string) string {
	name := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9-]+`).ReplaceAllString(address, "_"), "_")
	return name + ".tf.txt"
}

// argument sets one argument of a resource.
func argument(address, name, value string) *doctor.Fix {
	module, resource, _ := split(address)
	kind, label, _ := strings.Cut(resource, ".")
	do := "in the resource " + address
	if module != "" {
		do += ", by the input of " + module + " that leads there"
	}
	return &doctor.Fix{
		Form: "Terraform", Do: do, File: fileOf(address),
		Text: fmt.Sprintf("resource %q %q {\n  %s = %s\n}\n", kind, label, name, value),
	}
}

// addonFix sets configuration_values, of an add-on that the EKS module makes by its input.
func addonFix(address, addon string) func(whole, change map[string]any) (*doctor.Fix, error) {
	return func(whole, _ map[string]any) (*doctor.Fix, error) {
		module, resource, key := split(address)
		if module == "" || key == "" || !strings.HasPrefix(resource, "aws_eks_addon.") {
			return argument(address, "configuration_values", "jsonencode("+expression(whole, "  ")+")"), nil
		}
		if !identifier.MatchString(addon) {
			addon = quoted(addon)
		}
		return &doctor.Fix{
			Form: "Terraform", File: fileOf(address),
			Do:   fmt.Sprintf("in %s, by the input addons (cluster_addons before version 21 of the EKS module, eks_addons of EKS Blueprints)", module),
			Text: fmt.Sprintf("addons = {\n  %s = {\n    configuration_values = jsonencode(%s)\n  }\n}\n", addon, expression(whole, "    ")),
		}, nil
	}
}

// blueprint is a release of the module EKS Blueprints Addons, which has an input for each.
var blueprint = regexp.MustCompile(`^(module\..*)\.module\.([a-z0-9_]+)\.helm_release\.this\[0\]$`)

// releaseFix adds values after those that a helm_release has, of which what is set one by one wins.
func releaseFix(address string, count int, settings []helm.Setting) func(change map[string]any) (*doctor.Fix, error) {
	return func(change map[string]any) (*doctor.Fix, error) {
		instead := ""
		for _, s := range helm.Undoing(settings, change) {
			name, _, _ := strings.Cut(s.Text, "=")
			instead += ", and without its set of " + name
		}
		value := "yamlencode(" + expression(change, "    ") + ")"
		if m := blueprint.FindStringSubmatch(address); m != nil {
			fix := &doctor.Fix{
				Form: "Terraform", File: fileOf(address), Do: fmt.Sprintf("in %s, by the input %s of EKS Blueprints", m[1], m[2]),
				Text: fmt.Sprintf("%s = {\n  values = [\n    %s,\n  ]\n}\n", m[2], value),
			}
			if count > 0 {
				fix.Do += fmt.Sprintf(", after the %d values that it has", count)
			}
			fix.Do += instead
			return fix, nil
		}
		fix := argument(address, "values", "[\n    "+value+",\n  ]")
		if count > 0 {
			fix.Do += fmt.Sprintf(", after the %d that it has", count)
		}
		fix.Do += instead
		return fix, nil
	}
}

// manifestFix sets fields of a manifest.
func manifestFix(address, argumentName string) func(change map[string]any) (*doctor.Fix, error) {
	return func(change map[string]any) (*doctor.Fix, error) {
		fix := argument(address, argumentName, expression(change, "  "))
		fix.Do += ", merged into its " + argumentName
		return fix, nil
	}
}
