package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The modules that publish the tables, all under the Apache License 2.0. Those without a version
// are of the build list's.
const (
	awsModule  = "github.com/aws/karpenter-provider-aws"
	coreModule = "sigs.k8s.io/karpenter"
	vpcModule  = "github.com/aws/amazon-vpc-resource-controller-k8s"
	vpcVersion = "v1.8.2"
	region     = "us-east-1"
)

// sources are the published tables, by instance type.
type sources struct {
	prices    map[string]float64            // USD per hour, Linux, on-demand, us-east-1
	elsewhere map[string]map[string]float64 // the same by region; in China in yuan
	limits    map[string]*limit
	bandwidth map[string]int // Mbps
	shapes    map[string]shape
	figures   map[string]figures
}

// limit is what the VPC allows an instance type.
type limit struct {
	// cards are the network interfaces that each network card holds.
	cards          []int
	defaultCard    int
	ipv4, branches int
	trunking       bool
	hypervisor     string
}

// shape is an entry of KWOK's example list. Its memory is rounded down to whole
// GiB and its architecture is AWS's word, so it serves as a cross-check only.
type shape struct {
	Name         string
	Architecture string
	Resources    map[string]string
}

func loadSources() (*sources, error) {
	aws, err := moduleDir(awsModule)
	if err != nil {
		return nil, err
	}
	core, err := moduleDir(coreModule)
	if err != nil {
		return nil, err
	}
	vpc, err := download(vpcModule + "@" + vpcVersion)
	if err != nil {
		return nil, err
	}
	s := &sources{prices: map[string]float64{}, elsewhere: map[string]map[string]float64{}, limits: map[string]*limit{}, bandwidth: map[string]int{}, shapes: map[string]shape{}}
	providers := filepath.Join(aws, "pkg", "providers")
	for _, table := range []struct {
		file, variable string
		read           func(*ast.CompositeLit) error
	}{
		{filepath.Join(providers, "pricing", "zz_generated.pricing_aws.go"), "InitialOnDemandPricesAWS", s.readPrices},
		{filepath.Join(providers, "pricing", "zz_generated.pricing_aws_cn.go"), "InitialOnDemandPricesCN", s.readPrices},
		{filepath.Join(providers, "pricing", "zz_generated.pricing_aws_us_gov.go"), "InitialOnDemandPricesUSGov", s.readPrices},
		// Of types that both know, Karpenter's limits count: its page of types agrees with them.
		{filepath.Join(vpc, "pkg", "aws", "vpc", "limits.go"), "Limits", s.readLimits},
		{filepath.Join(providers, "instancetype", "zz_generated.vpclimits.go"), "Limits", s.readLimits},
		{filepath.Join(providers, "instancetype", "zz_generated.bandwidth.go"), "InstanceTypeBandwidthMegabits", s.readBandwidth},
	} {
		lit, err := literal(table.file, table.variable)
		if err == nil {
			err = table.read(lit)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", table.file, err)
		}
	}
	if s.figures, err = readReference(); err != nil {
		return nil, err
	}
	return s, s.readShapes(filepath.Join(core, "kwok", "examples", "aws_instance_types.json"))
}

func moduleDir(path string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return "", fmt.Errorf("finding module %s: %w", path, err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// download is the folder of a module of a version, which no build needs.
func download(module string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w: %s", module, err, out)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	return found.Dir, nil
}

// literal finds the composite literal that a package variable is set to.
func literal(file, variable string) (*ast.CompositeLit, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, err
	}
	var found *ast.CompositeLit
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == variable && len(spec.Values) == 1 {
			found, _ = spec.Values[0].(*ast.CompositeLit)
		}
		return found == nil
	})
	if found == nil {
		return nil, fmt.Errorf("no variable %s", variable)
	}
	return found, nil
}

// fields walks the key: value pairs of a literal; keys are strings or names.
func fields(lit *ast.CompositeLit, each func(key string, value ast.Expr) error) error {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return fmt.Errorf("an element without a key")
		}
		key := ""
		switch k := kv.Key.(type) {
		case *ast.Ident:
			key = k.Name
		case *ast.BasicLit:
			key, _ = strconv.Unquote(k.Value)
		}
		if err := each(key, kv.Value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (s *sources) readPrices(lit *ast.CompositeLit) error {
	return fields(lit, func(r string, byType ast.Expr) error {
		into := s.prices
		if r != region {
			into = map[string]float64{}
			s.elsewhere[r] = into
		}
		return fields(byType.(*ast.CompositeLit), func(name string, v ast.Expr) (err error) {
			into[name], err = strconv.ParseFloat(text(v), 64)
			return err
		})
	})
}

func (s *sources) readBandwidth(lit *ast.CompositeLit) error {
	return fields(lit, func(name string, v ast.Expr) (err error) {
		s.bandwidth[name], err = strconv.Atoi(text(v))
		return err
	})
}

func (s *sources) readLimits(lit *ast.CompositeLit) error {
	return fields(lit, func(name string, v ast.Expr) error {
		l := &limit{}
		err := fields(v.(*ast.CompositeLit), func(field string, v ast.Expr) (err error) {
			switch field {
			case "IPv4PerInterface":
				l.ipv4, err = strconv.Atoi(text(v))
			case "BranchInterface":
				l.branches, err = strconv.Atoi(text(v))
			case "IsTrunkingCompatible":
				l.trunking = text(v) == "true"
			case "Hypervisor":
				l.hypervisor = text(v)
			case "DefaultNetworkCardIndex":
				l.defaultCard, err = strconv.Atoi(text(v))
			case "NetworkCards":
				l.cards, err = interfaces(v.(*ast.CompositeLit))
			}
			return err
		})
		if err != nil {
			return err
		}
		if l.defaultCard >= len(l.cards) {
			return fmt.Errorf("default network card %d of %d", l.defaultCard, len(l.cards))
		}
		s.limits[name] = l
		return nil
	})
}

// interfaces lists the maximum number of network interfaces per card.
func interfaces(cards *ast.CompositeLit) ([]int, error) {
	out := make([]int, len(cards.Elts))
	for i, c := range cards.Elts {
		err := fields(c.(*ast.CompositeLit), func(field string, v ast.Expr) (err error) {
			if field == "MaximumNetworkInterfaces" {
				out[i], err = strconv.Atoi(text(v))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// text is a literal's or name's text without quotes.
func text(v ast.Expr) string {
	switch v := v.(type) {
	case *ast.BasicLit:
		if v.Kind == token.STRING {
			s, _ := strconv.Unquote(v.Value)
			return s
		}
		return v.Value
	case *ast.Ident:
		return v.Name
	}
	return ""
}

func (s *sources) readShapes(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list []shape
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	for _, e := range list {
		s.shapes[e.Name] = e
	}
	return nil
}

// contradicts compares what the family rules say with KWOK's example list,
// where that has the type.
func (s *sources) contradicts(name string, vcpus, memoryMiB int) error {
	e, ok := s.shapes[name]
	if !ok {
		return nil
	}
	if want := strconv.Itoa(vcpus); e.Resources["cpu"] != want {
		return fmt.Errorf("%s vCPUs by the family's rule, %s in KWOK's list", want, e.Resources["cpu"])
	}
	q, err := resource.ParseQuantity(e.Resources["memory"])
	if err != nil {
		return err
	}
	if gib := q.Value() >> 30; gib != int64(memoryMiB)>>10 {
		return fmt.Errorf("%d MiB by the family's rule, %d GiB in KWOK's list", memoryMiB, gib)
	}
	return nil
}
