package enginetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Scenario is a cluster that is written down line by line, the language of the
// stories about placement. A line is a command, a name and options; lists are
// separated by commas, and zone, arch, type, capacity, os, host and pool stand
// for the labels of that meaning.
//
//	type m.large cpu=2 memory=8Gi price=0.10 spot=0.04 zones=a,b arch=arm64 gpu=1 pods=20
//	     labels=k:v attach=DRIVER:25 reserved-cpu=100m sold-out=a/spot:WHAT-IS-LACKING more=RESOURCE:1
//	     reserved=a/cr-1:2,... reserved-price=0.001 only-reserved
//	pool main weight=10 require=zone:In:a,b;k:Exists min-values=type:2 taints=k=v:NoSchedule
//	     startup-taints=... limits=cpu:10,nodes:2 labels=k:v types=m.large not-ready=WHY static=3
//	     planned-first
//	node n1 type=m.large zone=a pool=main stage=unlaunched|launched|appeared|registered|ready
//	     labels=k:v taints=... allocatable=cpu:3 types=m.large,... cordoned deleting foreign
//	     kubelet-ready
//	     ignores=do-not-disrupt,pod-disruption-budgets
//	     reservation=cr-1               which an unlaunched machine draws on
//	pod web count=3 cpu=1 memory=1Gi gpu=1 more=RESOURCE:1 limits=cpu:2 second=cpu:1 on=n1
//	     init=cpu:2 sidecar=cpu:1 late-init=cpu:2 overhead=cpu:100m pod-level=cpu:4
//	     actual=cpu:1 allocated=cpu:2 resize=Deferred|Infeasible
//	     select=zone:a affinity=zone:In:a,b;arch:Exists|zone:In:c|name:In:n1
//	     tolerate=k=v:NoSchedule,k,k<5,* ports=80,10.0.0.1:81/UDP host-network labels=app:web
//	     claims=data ephemeral=tmp:CLASS inline-csi=DRIVER ebs=vol-1 gce-disk=pd:ro
//	     devices=claim:gpu,template:gpu priority=10 namespace=ns owner=Job/x scheduler=other
//	     gate=g phase=Pending unschedulable nominated=n1 deleting
//	     do-not-disrupt=true started=5m not-ready
//	     spread=zone:1:app:web/min:3 apart=host:app:web near=zone:app:web/weight:5
//	     prefer=10:zone:In:a             see gather
//	daemonset agent cpu=100m ...        a pod's options
//	namespace ns labels=k:v             the labels of a namespace
//	pdb web select=app:web max-unavailable=0 min-available=100% always-allow
//	class gp3 zones=a,b|c immediate driver=D default
//	volume v1 zones=a nodes=k:In:v|k:In:w labels=k:v class=C size=10Gi driver=D handle=H
//	     source=aws|local access=RWO,RWX mode=Block deleting
//	     claim=data                     and the claim that is bound to it
//	     for=data                       waits for a claim of that name
//	claim data class=gp3 size=10Gi access=RWOP mode=Block selector=k:v volume=v1
//	     selected-node=n1 old-class=C of-pod=web phase=Lost deleting
//	csinode n1 attach=DRIVER:25         a driver without a number has no limit
//	attachment n1 v1 driver=D in-flight a volume that is attached to the node
//	refuse m.large/a/spot               the cloud has just refused this
//	nominate web-1 n1                   an earlier plan counted on n1 for web-1
//	expect web-1 count=20               so many more like web-1 are about to be created
//	buffer room count=2 cpu=1 ...       a CapacityBuffer of chunks with a pod's options
//
// Its zero value is an empty cluster.
type Scenario struct {
	snapshot.Snapshot
	types   []*catalog.Type
	classes snapshot.Classes
}

// Do carries out one command and reports whether it knows it.
func (s *Scenario) Do(t testing.TB, c storytest.Command) bool {
	t.Helper()
	s.Now = now
	switch c.Name {
	case "type":
		s.types = append(s.types, s.newType(t, c))
	case "pool":
		s.Pools = append(s.Pools, s.pool(t, c))
	case "node":
		s.Nodes = append(s.Nodes, s.node(t, c))
	case "pod":
		s.pods(t, c)
	case "daemonset":
		s.daemonSet(t, c)
	case "class", "volume", "claim", "csinode", "attachment":
		s.storage(t, c)
	case "pdb":
		s.pdb(c)
	case "refuse":
		s.refuse(c)
	case "namespace":
		if s.Namespaces == nil {
			s.Namespaces = map[string]map[string]string{}
		}
		s.Namespaces[c.Args[0]] = pairs(c.Options["labels"])
	case "nominate":
		s.nominate(c)
	case "expect":
		s.expect(t, c)
	case "buffer":
		s.Buffers = append(s.Buffers, buffer(t, c, &s.classes))
	default:
		return false
	}
	s.sort()
	return true
}

func (s *Scenario) sort() {
	slices.SortFunc(s.Pools, func(a, b *snapshot.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Pending, snapshot.ComparePods)
}

var labelNames = map[string]string{
	"zone": corev1.LabelTopologyZone, "arch": corev1.LabelArchStable, "type": corev1.LabelInstanceTypeStable,
	"capacity": catalog.CapacityTypeLabel, "os": corev1.LabelOSStable, "host": corev1.LabelHostname,
	"pool": "karpenter.sh/nodepool",
}

func labelName(s string) string {
	if full, ok := labelNames[s]; ok {
		return full
	}
	return s
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// pairs reads k:v,k:v.
func pairs(s string) map[string]string {
	out := map[string]string{}
	for _, entry := range list(s) {
		k, v, _ := strings.Cut(entry, ":")
		out[labelName(k)] = v
	}
	return out
}

func amounts(t testing.TB, s string) corev1.ResourceList {
	t.Helper()
	var out corev1.ResourceList
	for _, entry := range list(s) {
		k, v, _ := strings.Cut(entry, ":")
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[corev1.ResourceName(k)] = quantity(t, v)
	}
	return out
}

func quantity(t testing.TB, s string) resource.Quantity {
	t.Helper()
	q, err := resource.ParseQuantity(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return q
}

func option(c storytest.Command, name, otherwise string) string {
	if v, ok := c.Options[name]; ok {
		return v
	}
	return otherwise
}

// expressions reads key:Operator:value,value;...
func expressions(s string) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, entry := range strings.Split(s, ";") {
		if entry == "" {
			continue
		}
		key, rest, _ := strings.Cut(entry, ":")
		op, values, _ := strings.Cut(rest, ":")
		out = append(out, corev1.NodeSelectorRequirement{Key: labelName(key), Operator: corev1.NodeSelectorOperator(op), Values: list(values)})
	}
	return out
}

// taints reads key=value:Effect,...
func taints(s string) []corev1.Taint {
	var out []corev1.Taint
	for _, entry := range list(s) {
		name, effect, _ := strings.Cut(entry, ":")
		key, value, _ := strings.Cut(name, "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return out
}

func (s *Scenario) newType(t testing.TB, c storytest.Command) *catalog.Type {
	t.Helper()
	name := c.Args[0]
	zones := list(option(c, "zones", "a"))
	capacity := corev1.ResourceList{
		"cpu": quantity(t, option(c, "cpu", "1")), "memory": quantity(t, option(c, "memory", "4Gi")),
		"pods": quantity(t, option(c, "pods", "110")),
	}
	if c.Has("gpu") {
		capacity["nvidia.com/gpu"] = quantity(t, c.Options["gpu"])
	}
	maps.Copy(capacity, amounts(t, c.Options["more"]))
	out := &catalog.Type{Name: name, Capacity: capacity, Exotic: c.Has("gpu") || c.Has("metal"), BareMetal: c.Has("metal"), Overhead: corev1.ResourceList{"cpu": quantity(t, option(c, "reserved-cpu", "0"))}}
	kinds := []string{catalog.OnDemand}
	if c.Has("only-reserved") {
		kinds = nil
	}
	prices := map[string]string{catalog.OnDemand: option(c, "price", "1")}
	if c.Has("spot") {
		kinds, prices[catalog.Spot] = append(kinds, catalog.Spot), c.Options["spot"]
	}
	labels := pairs(c.Options["labels"])
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelArchStable], labels[corev1.LabelOSStable] = name, option(c, "arch", "amd64"), "linux"
	out.Requirements = requirement.FromLabels(labels).And(requirement.NewSet(
		requirement.Must(corev1.LabelTopologyZone, requirement.In, zones...), requirement.Must(catalog.CapacityTypeLabel, requirement.In, append(kinds, reservedKind(c)...)...)))
	for _, zone := range zones {
		for _, kind := range kinds {
			price, err := strconv.ParseFloat(prices[kind], 64)
			if err != nil {
				t.Fatal(err)
			}
			o := catalog.Offering{Zone: zone, CapacityType: kind, Price: price, Available: true}
			for _, out := range list(c.Options["sold-out"]) {
				if offering, lacks, _ := strings.Cut(out, ":"); offering == zone+"/"+kind {
					o.Available, o.Lacks = false, strings.ReplaceAll(lacks, "_", " ")
				}
			}
			out.Offerings = append(out.Offerings, o)
		}
	}
	out.Offerings = append(out.Offerings, reserved(t, c)...)
	for driver, n := range exact(c.Options["attach"]) {
		if out.AttachLimits == nil {
			out.AttachLimits = map[string]int64{}
		}
		out.AttachLimits[driver] = int64(storytest.Number(t, n))
	}
	return out
}

func (s *Scenario) pool(t testing.TB, c storytest.Command) *snapshot.Pool {
	t.Helper()
	p := &snapshot.Pool{
		Name: c.Args[0], Weight: int32(storytest.Number(t, option(c, "weight", "0"))), Labels: pairs(c.Options["labels"]),
		Taints: taints(c.Options["taints"]), StartupTaints: taints(c.Options["startup-taints"]),
		Limits: amounts(t, c.Options["limits"]), NotReady: strings.ReplaceAll(c.Options["not-ready"], "_", " "),
		Class: snapshot.ClassRef{Group: "karpenter.example", Kind: "TestNodeClass", Name: "default"},
	}
	p.Requirements = requirement.FromLabels(p.Labels)
	for _, e := range expressions(c.Options["require"]) {
		r, err := requirement.New(e.Key, requirement.Operator(e.Operator), e.Values...)
		if err != nil {
			t.Fatal(err)
		}
		p.Requirements = p.Requirements.With(r)
	}
	for key, n := range pairs(c.Options["min-values"]) {
		p.Requirements = p.Requirements.With(requirement.Must(key, requirement.Exists).WithMinValues(storytest.Number(t, n)))
	}
	p.Policy.Initialization.PlannedFirst = c.Has("planned-first")
	if c.Has("static") {
		p.Replicas = ptr.To(int64(storytest.Number(t, c.Options["static"])))
	}
	for _, known := range s.types {
		if !c.Has("types") || slices.Contains(list(c.Options["types"]), known.Name) {
			p.Types = append(p.Types, known)
		}
	}
	return p
}

func (s *Scenario) refuse(c storytest.Command) {
	parts := strings.Split(c.Args[0], "/")
	if s.Unavailable == nil {
		s.Unavailable = map[catalog.Key]time.Time{}
	}
	s.Unavailable[catalog.Key{Type: parts[0], Zone: parts[1], CapacityType: parts[2]}] = now.Add(1)
}

func (s *Scenario) nominate(c storytest.Command) {
	if s.Nominated == nil {
		s.Nominated = map[types.NamespacedName]string{}
	}
	s.Nominated[types.NamespacedName{Namespace: "default", Name: c.Args[0]}] = c.Args[1]
}

func (s *Scenario) expect(t testing.TB, c storytest.Command) {
	t.Helper()
	i := slices.IndexFunc(s.Pending, func(p *snapshot.Pod) bool { return p.Name == c.Args[0] })
	n, err := strconv.Atoi(c.Options["count"])
	if i < 0 || err != nil {
		t.Fatalf("expect: there is no pod %s, or no count", c.Args[0])
	}
	s.Expected = append(s.Expected, snapshot.Expected{Like: s.Pending[i], Count: n})
}

func fullName(base string, i, count int) string {
	if count == 1 {
		return base
	}
	return fmt.Sprintf("%s-%d", base, i)
}
