package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/engine/enginetest/storytest"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// World is a small random cluster: some types, pools with weights, taints, limits
// and open labels, machines in every stage of life, and pods with constraints of
// every kind that meet them now and then. The same seed gives the same world.
func World(seed uint64) *snapshot.Snapshot {
	s, err := Read(Story(seed))
	if err != nil {
		panic(err)
	}
	return s
}

// Read is the cluster that a story tells of; it fails where a line is not one of
// a scenario.
func Read(story string) (s *snapshot.Snapshot, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("enginetest: %v", why)
		}
	}()
	scenario := &Scenario{}
	for line := range strings.Lines(story) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !scenario.Do(quiet{}, storytest.Parse(line)) {
			return nil, fmt.Errorf("enginetest: %s", line)
		}
	}
	return &scenario.Snapshot, nil
}

// Story is the world of a seed in the language of scenarios.
func Story(seed uint64) string {
	w := &dice{Rand: rand.New(rand.NewPCG(seed, 3))}
	return strings.Join(w.lines(), "\n") + "\n"
}

type dice struct{ *rand.Rand }

func (d *dice) pick(list ...string) string { return list[d.IntN(len(list))] }

// once is true one time in n.
func (d *dice) once(n int) bool { return d.IntN(n) == 0 }

func (d *dice) some(list ...string) string {
	var out []string
	for _, v := range list {
		if d.once(2) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = append(out, list[d.IntN(len(list))])
	}
	return strings.Join(out, ",")
}

func (d *dice) lines() []string {
	var out []string
	types := 1 + d.IntN(8)
	for i := range types {
		out = append(out, d.aType(i))
	}
	pools := 1 + d.IntN(3)
	for i := range pools {
		out = append(out, d.aPool(i))
	}
	for i := range d.IntN(3) {
		out = append(out, fmt.Sprintf("daemonset d%d cpu=%dm memory=64Mi", i, 50*(1+d.IntN(4)))+d.whereabouts())
	}
	for i := range d.IntN(5) {
		line := d.aNode(i, types, pools)
		out = append(out, line)
		// No pod runs on a machine that is not there.
		for j := range d.IntN(3) {
			if !strings.Contains(line, "launched") || strings.Contains(line, "foreign") {
				out = append(out, fmt.Sprintf("pod r%d-%d on=n%d count=%d", i, j, i, 1+d.IntN(3))+d.amounts()+d.labels()+d.pick("", "", "", " apart=host:app:a", " apart=zone:app:b"))
			}
		}
	}
	for i := range 1 + d.IntN(10) {
		app := d.pick("a", "b", "c")
		line := fmt.Sprintf("pod p%d count=%d labels=app:%s", i, 1+d.IntN(12), app) + d.amounts() + d.whereabouts()
		if d.once(6) {
			line += " ports=" + d.pick("80", "80,443", "10.0.0.1:80", "53/UDP")
		}
		topology := d.topology(app)
		// Which nodes a spread counts depends on the pod's affinity; where that is
		// about a label that a pool leaves open, that is not known before the node is there.
		if strings.Contains(line, "team:") || strings.Contains(line, "level:") {
			topology = ""
		}
		// Nor over which zones, where a machine is ordered whose zone is open:
		// it makes one more domain, or none, when it is there.
		if strings.Contains(topology, "spread=zone") && !strings.Contains(topology, "/anyway") && slices.ContainsFunc(out, unlaunched) {
			topology = ""
		}
		out = append(out, line+topology)
	}
	return out
}

func unlaunched(line string) bool { return strings.Contains(line, "stage=unlaunched") }

func (d *dice) aType(i int) string {
	cpu := 1 << d.IntN(5)
	price := float64(cpu) * (0.03 + 0.05*d.Float64())
	line := fmt.Sprintf("type t%d cpu=%d memory=%dGi price=%.4f pods=%d arch=%s zones=%s", i, cpu, cpu*(1+d.IntN(8)), price, 3+d.IntN(30), d.pick("amd64", "amd64", "arm64"), d.some("a", "b", "c"))
	if d.once(2) {
		line += fmt.Sprintf(" spot=%.4f", price*(0.3+0.5*d.Float64()))
	}
	if d.once(4) {
		line += fmt.Sprintf(" gpu=%d", 1+d.IntN(4))
	}
	if d.once(2) {
		line += " labels=size:" + d.pick("s", "m", "l")
	}
	if d.once(4) {
		line += " sold-out=a/on-demand"
	}
	if d.once(2) {
		line += " reserved-cpu=100m"
	}
	return line
}

func (d *dice) aPool(i int) string {
	line := fmt.Sprintf("pool pool%d weight=%s", i, d.pick("0", "0", "10"))
	var require []string
	for _, r := range []string{"zone:In:" + d.some("a", "b", "c"), "capacity:In:" + d.some("spot", "on-demand"), "team:" + d.pick("Exists", "In:x,y,z", "In:x", "NotIn:y"), "level:" + d.pick("Gt:3", "Exists")} {
		if d.once(3) {
			require = append(require, r)
		}
	}
	if len(require) > 0 {
		line += " require=" + strings.Join(require, ";")
	}
	if d.once(3) {
		line += " taints=" + d.pick("dedicated=gpu:NoSchedule", "dedicated:NoExecute", "soft:PreferNoSchedule")
	}
	if d.once(3) {
		line += " limits=" + d.pick("cpu:8", "cpu:40", "nodes:2", "memory:64Gi", "cpu:20,nodes:3")
	}
	if d.once(5) {
		line += " min-values=" + d.pick("type:2", "type:3", "zone:2")
	}
	if d.once(12) {
		line += d.pick(" not-ready=no_class", " static=2")
	}
	return line
}

func (d *dice) aNode(i, types, pools int) string {
	line := fmt.Sprintf("node n%d type=t%d pool=pool%d zone=%s stage=%s", i, d.IntN(types), d.IntN(pools), d.pick("a", "b", "c"), d.pick("unlaunched", "launched", "appeared", "registered", "ready", "ready"))
	if d.once(3) {
		line += " labels=team:" + d.pick("x", "y")
	}
	if d.once(4) {
		line += " taints=" + d.pick("dedicated=gpu:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule")
	}
	return line + d.pick("", "", "", "", " cordoned", " deleting", " foreign")
}

func (d *dice) amounts() string {
	line := fmt.Sprintf(" cpu=%dm memory=%dMi", 50*(1+d.IntN(60)), 64*(1+d.IntN(80)))
	switch d.IntN(12) {
	case 0:
		line += " gpu=1"
	case 1:
		line += " init=cpu:2"
	case 2:
		line += " sidecar=cpu:250m"
	case 3:
		line = " cpu=40"
	}
	return line
}

func (d *dice) labels() string { return " labels=app:" + d.pick("a", "b", "c") }

// whereabouts constrains the node.
func (d *dice) whereabouts() string {
	var out []string
	if d.once(4) {
		out = append(out, "select="+d.pick("zone:a", "zone:b", "arch:arm64", "team:x", "team:y", "size:l", "capacity:spot", "pool:pool0", "unknown:x"))
	}
	if d.once(4) {
		out = append(out, "affinity="+d.pick("zone:In:a,b", "zone:In:a|zone:In:c", "team:NotIn:x", "team:Exists", "level:Gt:5|team:In:x", "level:Lt:9", "arch:In:amd64;size:NotIn:s", "size:DoesNotExist", "zone:In:a;team:In:x|zone:In:b;team:In:y"))
	}
	if d.once(3) {
		out = append(out, "tolerate="+d.pick("dedicated", "dedicated=gpu:NoSchedule", "dedicated:NoExecute"))
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return " " + strings.Join(out, " ")
}

// topology is the constraints by other pods. Where two kinds of pods are each spread by the
// other's numbers, the order in which the scheduler takes them decides whether it comes
// to an end: such a plan is right if there is one.
func (d *dice) topology(app string) string {
	other := d.pick("a", "b", "c")
	switch d.IntN(28) {
	case 0:
		return " spread=host:" + d.pick("1", "2") + ":app:" + app
	case 1:
		return " spread=host:" + d.pick("1", "3") + ":app:" + other
	case 2:
		return " spread=host:2:app:" + app
	case 3:
		return " apart=" + d.pick("zone", "host", "capacity") + ":app:" + other
	case 4:
		return " near=" + d.pick("zone", "host", "capacity") + ":app:" + other
	case 5:
		return " apart=host:app:" + app
	case 6:
		return " near=capacity:app:" + other + "/namespaces:all"
	case 7:
		return " apart=zone:app:" + other + "/mismatch:app,host:app:" + app
	case 8:
		return " spread=" + d.pick("zone", "host") + ":1:app:" + other + "/anyway"
	case 9:
		return " apart=" + d.pick("zone", "host") + ":app:" + other + "/weight:10"
	case 10:
		return " near=" + d.pick("zone", "host") + ":app:" + other + "/weight:10"
	case 11:
		return " prefer=10:zone:In:a|5:capacity:In:spot"
	case 12, 13:
		return " spread=zone:" + d.pick("1", "2") + ":app:" + app + d.fields()
	case 14:
		return " spread=zone:" + d.pick("1", "2", "3") + ":app:" + other + d.fields()
	case 15:
		return " spread=zone:" + d.pick("1", "2") + ":app:" + app + d.fields() + ",host:" + d.pick("1", "2") + ":app:" + app + d.fields()
	}
	return ""
}

// fields are some that a spread may have.
func (d *dice) fields() string {
	out := ""
	for _, f := range []string{"min:" + d.pick("2", "3", "4"), "match:rev", "affinity:Ignore", "taints:Honor"} {
		if d.once(5) {
			out += "/" + f
		}
	}
	return out
}

// quiet stands in for a test where the lines are known to be right.
type quiet struct{ testing.TB }

func (quiet) Helper() {}

func (quiet) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (quiet) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
