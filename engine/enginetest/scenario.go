package enginetest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
//	     labels=k:v attach=DRIVER:25 reserved-cpu=100m sold-out=a/spot
//	pool main weight=10 require=zone:In:a,b;k:Exists min-values=type:2 taints=k=v:NoSchedule
//	     startup-taints=... limits=cpu:10,nodes:2 labels=k:v types=m.large not-ready=WHY static=3
//	node n1 type=m.large zone=a pool=main stage=unlaunched|launched|registered|ready
//	     labels=k:v taints=... cordoned deleting foreign
//	pod web count=3 cpu=1 memory=1Gi gpu=1 init-cpu=2 sidecar-cpu=1 overhead-cpu=100m on=n1
//	     select=zone:a affinity=zone:In:a,b;arch:Exists|zone:In:c tolerate=k=v:NoSchedule
//	     ports=80,10.0.0.1:81/UDP labels=app:web claims=data gate=g namespace=ns phase=Running
//	     spread=zone:1:app:web apart=host:app:web near=zone:app:web
//	daemonset agent cpu=100m ...        a pod's options
//	class gp3 zones=a,b immediate       a storage class
//	volume v1 zones=a claim=data        a volume and the claim that is bound to it
//	claim data class=gp3                a claim that is not bound yet
//	refuse m.large/a/spot               the cloud has just refused this
//	nominate web-1 n1                   an earlier plan counted on n1 for web-1
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
	case "class", "volume", "claim":
		s.storage(c)
	case "refuse":
		s.refuse(c)
	case "nominate":
		s.nominate(c)
	default:
		return false
	}
	s.sort()
	return true
}

func (s *Scenario) sort() {
	slices.SortFunc(s.Pools, func(a, b *snapshot.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Nodes, func(a, b *snapshot.Node) int { return cmp.Compare(a.Name, b.Name) })
	byName := func(a, b *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(s.Pending, byName)
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

func number(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
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
	out := &catalog.Type{Name: name, Capacity: capacity, Overhead: corev1.ResourceList{"cpu": quantity(t, option(c, "reserved-cpu", "0"))}}
	kinds := []string{catalog.OnDemand}
	prices := map[string]string{catalog.OnDemand: option(c, "price", "1")}
	if c.Has("spot") {
		kinds, prices[catalog.Spot] = append(kinds, catalog.Spot), c.Options["spot"]
	}
	labels := pairs(c.Options["labels"])
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelArchStable], labels[corev1.LabelOSStable] = name, option(c, "arch", "amd64"), "linux"
	out.Requirements = requirement.FromLabels(labels).And(requirement.NewSet(
		requirement.Must(corev1.LabelTopologyZone, requirement.In, zones...), requirement.Must(catalog.CapacityTypeLabel, requirement.In, kinds...)))
	for _, zone := range zones {
		for _, kind := range kinds {
			price, err := strconv.ParseFloat(prices[kind], 64)
			if err != nil {
				t.Fatal(err)
			}
			gone := slices.Contains(list(c.Options["sold-out"]), zone+"/"+kind)
			out.Offerings = append(out.Offerings, catalog.Offering{Zone: zone, CapacityType: kind, Price: price, Available: !gone})
		}
	}
	for driver, n := range pairs(c.Options["attach"]) {
		out.AttachLimits = map[string]int64{driver: number(t, n)}
	}
	return out
}

func (s *Scenario) pool(t testing.TB, c storytest.Command) *snapshot.Pool {
	t.Helper()
	p := &snapshot.Pool{
		Name: c.Args[0], Weight: int32(number(t, option(c, "weight", "0"))), Labels: pairs(c.Options["labels"]),
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
		p.Requirements = p.Requirements.With(requirement.Must(key, requirement.Exists).WithMinValues(int(number(t, n))))
	}
	if c.Has("static") {
		p.Replicas = ptr.To(number(t, c.Options["static"]))
	}
	for _, known := range s.types {
		if !c.Has("types") || slices.Contains(list(c.Options["types"]), known.Name) {
			p.Types = append(p.Types, known)
		}
	}
	return p
}

// storage makes classes, volumes and claims.
func (s *Scenario) storage(c storytest.Command) {
	v := &s.Volumes
	if v.Claims == nil {
		v.Claims, v.Volumes, v.StorageClasses = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}, map[string]*storagev1.StorageClass{}
	}
	name, zones := c.Args[0], list(c.Options["zones"])
	switch c.Name {
	case "class":
		mode := storagev1.VolumeBindingWaitForFirstConsumer
		if c.Has("immediate") {
			mode = storagev1.VolumeBindingImmediate
		}
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: option(c, "driver", "csi.example"), VolumeBindingMode: &mode}
		if len(zones) > 0 {
			class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: zones}}}}
		}
		v.StorageClasses[name] = class
	case "volume":
		pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: option(c, "driver", "csi.example")}
		if len(zones) > 0 {
			pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: expressions("zone:In:" + c.Options["zones"])}}}}
		}
		v.Volumes[name] = pv
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: c.Options["claim"]}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: name}}
		v.Claims[types.NamespacedName{Namespace: "default", Name: claim.Name}] = claim
	case "claim":
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if c.Has("class") {
			claim.Spec.StorageClassName = ptr.To(c.Options["class"])
		}
		v.Claims[types.NamespacedName{Namespace: "default", Name: name}] = claim
	}
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

func fullName(base string, i int, count int64) string {
	if count == 1 {
		return base
	}
	return fmt.Sprintf("%s-%d", base, i)
}
