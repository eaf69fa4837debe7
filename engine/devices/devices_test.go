package devices

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// plain is a selector whose expressions are attribute=value; an attribute that a device lacks is
// an error.
type plain struct{}

func (plain) Check(expression string) error {
	if !strings.Contains(expression, "=") {
		return errors.New("no =")
	}
	return nil
}

func (plain) Selects(expression string, d *catalog.Device) (bool, error) {
	name, want, _ := strings.Cut(expression, "=")
	a, ok := d.Attributes[resourcev1.QualifiedName(name)]
	if !ok {
		return false, errors.New("no such attribute")
	}
	return strings.Contains(*a.StringValue, want), nil
}

func deviceOf(name, model string) resourcev1.Device {
	return resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}}}
}

func sliceOf(node string, list ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-slice"},
		Spec:       resourcev1.ResourceSliceSpec{Driver: "d", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}, Devices: list},
	}
}

func requestFor(class string, n int64, selectors ...string) resourcev1.DeviceRequest {
	r := resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Count: n}}
	for _, s := range selectors {
		r.Exactly.Selectors = append(r.Exactly.Selectors, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: s}})
	}
	return r
}

func templateOf(requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaimTemplate {
	return &resourcev1.ResourceClaimTemplate{Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: requests}}}}
}

func podOf(classes *snapshot.Classes, name, node string, claims ...corev1.PodResourceClaim) *snapshot.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	p.Spec.NodeName, p.Spec.ResourceClaims = node, claims
	return classes.Pod(p)
}

func fromTemplate(name string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: "c", ResourceClaimTemplateName: &name}
}

func named(name string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: "c", ResourceClaimName: &name}
}

func nodeOf(name string, pods ...*snapshot.Pod) *snapshot.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "big"}}}
	o.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	return &snapshot.Node{Name: name, Object: o, Pods: pods}
}

func inDefault(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// world is a cluster with a node of two devices of model a and one of ab, and a pool of its type.
func world() (*snapshot.Snapshot, *Objects) {
	o := &Objects{
		Classes:   map[string]*resourcev1.DeviceClass{"gpu": {ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}},
		Templates: map[types.NamespacedName]*resourcev1.ResourceClaimTemplate{inDefault("any"): templateOf(requestFor("gpu", 0)), inDefault("b"): templateOf(requestFor("gpu", 1, "model=b"))},
		Claims:    map[types.NamespacedName]*resourcev1.ResourceClaim{},
		Slices:    map[string]*resourcev1.ResourceSlice{"n": sliceOf("n", deviceOf("0", "a"), deviceOf("1", "a"), deviceOf("2", "ab"))},
	}
	big := &catalog.Type{Name: "big", Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}
	return &snapshot.Snapshot{Pools: []*snapshot.Pool{{Name: "p", Types: []*catalog.Type{big}}}, Nodes: []*snapshot.Node{nodeOf("n")}}, o
}

const (
	anyGPU = corev1.ResourceName("devices of class gpu")
	modelB = corev1.ResourceName("devices of class gpu with model=b")
	either = anyGPU + " or class gpu with model=b"
)

func amount(list corev1.ResourceList, name corev1.ResourceName) int64 {
	q := list[name]
	return q.Value()
}

func TestDevicesOfNodesAndTypesAreResources(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("any")), podOf(&classes, "y", "", fromTemplate("b")), podOf(&classes, "z", "")}
	counter := NewCounter(plain{})
	out := counter.Count(s, o)
	for _, list := range []corev1.ResourceList{out.Nodes[0].Allocatable(), out.Pools[0].Types[0].Capacity} {
		if amount(list, anyGPU) != 3 || amount(list, modelB) != 1 || amount(list, either) != 3 || amount(list, corev1.ResourceCPU) != 4 {
			t.Errorf("has %v", list)
		}
	}
	for i, want := range []string{"1 0 1", "0 1 1", "0 0 0"} {
		var got []string
		for _, name := range []corev1.ResourceName{anyGPU, modelB, either} {
			q := out.Pending[i].Class.Requests.Get(name)
			got = append(got, q.String())
		}
		if strings.Join(got, " ") != want || len(out.Pending[i].Class.Devices) != 0 {
			t.Errorf("%s asks for %v and %v, want %s", out.Pending[i].Name, got, out.Pending[i].Class.Devices, want)
		}
	}
	if got, _ := Drivers(out.Pending[:1], []catalog.Choice{{Type: out.Pools[0].Types[0]}}); !slices.Equal(got, []string{"d"}) {
		t.Errorf("drivers %v", got)
	}
	if again := counter.Count(s, o); &again.Pools[0].Types[0] != &out.Pools[0].Types[0] {
		t.Error("an equal list of types is another one")
	}
	bare := s.Fork()
	bare.Pools[0] = &snapshot.Pool{Name: "p"}
	first := &counter.Count(s, o).Pools[0].Types[0]
	if counter.Count(bare, o); &counter.Count(s, o).Pools[0].Types[0] != first {
		t.Error("a snapshot without types made others forgotten")
	}
	changed := *s.Pools[0].Types[0]
	s.Pools[0].Types = []*catalog.Type{&changed}
	if changed.Exotic = true; !counter.Count(s, o).Pools[0].Types[0].Exotic {
		t.Error("another list of types is the old one")
	}
	if drivers := out.Pools[0].Types[0].Drivers; len(drivers) != 2 {
		t.Errorf("drivers %v, want those of each kind alone", drivers)
	}
	o.Slices["n"] = sliceOf("n", deviceOf("0", "a"))
	if amount(counter.Count(s, o).Pools[0].Types[0].Capacity, anyGPU) != 1 {
		t.Error("a type keeps devices that its node has no more")
	}
	s.Pending = s.Pending[2:]
	if counter.Count(s, o) != s {
		t.Error("a snapshot without claims was copied")
	}
}

// Two kinds may come to overlap though as many devices satisfy each as before.
func TestTypesAreMadeAnewWhenKindsOverlap(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	o.Templates[inDefault("a")] = templateOf(requestFor("gpu", 1, "model=a"))
	s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("a")), podOf(&classes, "y", "", fromTemplate("b"))}
	// Elsewhere the two overlap in any case.
	elsewhere := nodeOf("m")
	elsewhere.Object.Labels = nil
	s.Nodes = append(s.Nodes, elsewhere)
	o.Slices["m"] = sliceOf("m", deviceOf("0", "ab"))
	counter := NewCounter(plain{})
	for _, c := range []struct {
		models [3]string
		want   int64
	}{{[3]string{"a", "ab", "c"}, 2}, {[3]string{"a", "a", "b"}, 3}} {
		o.Slices["n"] = sliceOf("n", deviceOf("0", c.models[0]), deviceOf("1", c.models[1]), deviceOf("2", c.models[2]))
		if got := amount(counter.Count(s, o).Pools[0].Types[0].Capacity, "devices of class gpu with model=a or class gpu with model=b"); got != c.want {
			t.Errorf("%v: %d devices, want %d", c.models, got, c.want)
		}
	}
}

// A device that is allocated is not there for others, and that of a pod that runs is with the pod.
func TestAllocatedDevicesAreNotFree(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	s.Nodes[0].Pods = []*snapshot.Pod{podOf(&classes, "runs", "n", fromTemplate("any"))}
	s.Pending = []*snapshot.Pod{podOf(&classes, "y", "", fromTemplate("b"))}
	o.Claims[inDefault("runs-c")] = &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "n", Device: "2"}}},
	}}}
	n := NewCounter(plain{}).Count(s, o).Nodes[0]
	if q := n.Pods[0].Class.Requests.Get(anyGPU); q.Value() != 1 {
		t.Errorf("the pod that runs asks for %s", q.String())
	}
	// Two are free, and one is with the pod; it took the only one of model b.
	if got := n.Allocatable(); amount(got, anyGPU) != 3 || amount(got, modelB) != 0 || amount(got, either) != 3 {
		t.Errorf("has %v", got)
	}
}

// A claim that several pods name is the first one's; once one runs, the others follow it.
func TestSharedClaims(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	claim := &resourcev1.ResourceClaim{Spec: templateOf(requestFor("gpu", 2)).Spec.Spec}
	o.Claims[inDefault("shared")] = claim
	s.Pending = []*snapshot.Pod{podOf(&classes, "a", "", named("shared")), podOf(&classes, "b", "", named("shared"))}
	out := NewCounter(plain{}).Count(s, o)
	if q := out.Pending[0].Class.Requests.Get(anyGPU); q.Value() != 2 || len(out.Pending[0].Class.Devices) != 0 {
		t.Errorf("the first asks for %s", q.String())
	}
	if left := out.Pending[1].Class.Devices; len(left) != 1 || left[0].Why != "pod a shares it and comes first" {
		t.Errorf("the second has %v", left)
	}
	claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
	}}}}
	s.Nodes[0].Pods = []*snapshot.Pod{podOf(&classes, "a", "n", named("shared"))}
	s.Pending = s.Pending[1:]
	out = NewCounter(plain{}).Count(s, o)
	if c := out.Pending[0].Class; len(c.Devices) != 0 || len(c.Terms) != 1 || !strings.Contains(c.Terms[0].String(), "metadata.name") {
		t.Errorf("the second has %v on %v", c.Devices, c.Terms)
	}
}

// While kube-scheduler binds a pod, the devices of its claim are no longer free, and it needs no
// others.
func TestAPodThatIsBeingBoundNeedsNoOtherDevices(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	x := podOf(&classes, "x", "", fromTemplate("b"))
	x.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "c", ResourceClaimName: new("x-c")}}
	s.Pending = []*snapshot.Pod{podOf(&classes, "w", "", fromTemplate("b")), x, podOf(&classes, "y", "", fromTemplate("b"))}
	s.Expected = []snapshot.Expected{{Like: s.Pending[2], Count: 1}, {Like: podOf(&classes, "gone", ""), Count: 1}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x-c"}}
	o.Claims[inDefault("x-c")] = claim
	claim.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "n", Device: "2"}}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}},
		}}},
	}
	out := NewCounter(plain{}).Count(s, o)
	if got := amount(out.Nodes[0].Allocatable(), modelB); got != 0 {
		t.Errorf("%d devices are free", got)
	}
	for i, want := range []int64{1, 0, 1} {
		if q := out.Pending[i].Class.Requests.Get(modelB); q.Value() != want {
			t.Errorf("%s needs %s, want %d", out.Pending[i].Name, q.String(), want)
		}
	}
	if terms := fmt.Sprint(out.Pending[1].Class.Terms); !strings.Contains(terms, "metadata.name") {
		t.Errorf("x goes to %s", terms)
	}
	if out.Expected[0].Like != out.Pending[2] || out.Expected[1].Like == nil {
		t.Error("expected pods are like others than before")
	}
}

func TestClaimsThatCannotBeCountedSayWhy(t *testing.T) {
	yes, model := true, resourcev1.FullyQualifiedName("d/model")
	all, admin := requestFor("gpu", 1), requestFor("gpu", 1)
	all.Exactly.AllocationMode, admin.Exactly.AdminAccess = resourcev1.DeviceAllocationModeAll, &yes
	two := templateOf(requestFor("gpu", 2), requestFor("gpu", 1))
	two.Spec.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &model}}
	for want, template := range map[string]*resourcev1.ResourceClaimTemplate{
		`it does not exist`:                                            nil,
		`request "r": DeviceClass "npu" does not exist`:                templateOf(requestFor("npu", 1)),
		`request "r": selector 1: no =`:                                templateOf(requestFor("gpu", 1, "wrong")),
		`request "r": allocationMode All is not supported`:             templateOf(all),
		`request "r": adminAccess is not supported`:                    templateOf(admin),
		`request "r": alternatives (firstAvailable) are not supported`: templateOf(resourcev1.DeviceRequest{Name: "r"}),
		`request "r": constraints over several requests, or other than one matchAttribute, are not supported`: two,
	} {
		var classes snapshot.Classes
		s, o := world()
		if o.Templates[inDefault("t")] = template; template == nil {
			delete(o.Templates, inDefault("t"))
		}
		s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("t"))}
		c := NewCounter(plain{}).Count(s, o).Pending[0].Class
		if len(c.Devices) != 1 || c.Devices[0].Why != want {
			t.Errorf("got %v, want %s", c.Devices, want)
		}
	}
}

// A claim that only its own pod names goes where the pod goes.
func TestAClaimOfOnePod(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	o.Claims[inDefault("own")] = &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own"}, Spec: templateOf(requestFor("gpu", 2)).Spec.Spec}
	o.Claims[inDefault("own")].Status.Allocation = &resourcev1.AllocationResult{}
	s.Nodes[0].Pods = []*snapshot.Pod{podOf(&classes, "a", "n", named("own"))}
	if q := NewCounter(plain{}).Count(s, o).Nodes[0].Pods[0].Class.Requests.Get(anyGPU); q.Value() != 2 {
		t.Errorf("it asks for %s", q.String())
	}
}

// Of more kinds than can be counted exactly each counts, and all together.
func TestManyKindsOnCommonDevices(t *testing.T) {
	h := &host{devices: []*catalog.Device{{Driver: "d"}}, selected: map[string][]bool{}}
	kinds := map[string]*kind{}
	for i := range mostJoint + 1 {
		words := fmt.Sprint("k", i)
		kinds[words], h.selected[words] = &kind{}, []bool{true}
	}
	if got := len(dimensions(kinds, []*host{h})); got != mostJoint+2 {
		t.Errorf("%d resources for %d kinds", got, len(kinds))
	}
}

// A constraint on a single device is none.
func TestOneDeviceKeepsConstraints(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	model := resourcev1.FullyQualifiedName("d/model")
	one := templateOf(requestFor("gpu", 1))
	one.Spec.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: &model}}
	o.Templates[inDefault("t")] = one
	s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("t"))}
	if q := NewCounter(plain{}).Count(s, o).Pending[0].Class.Requests.Get(anyGPU); q.Value() != 1 {
		t.Errorf("it asks for %s", q.String())
	}
}

// Devices that agree in an attribute are counted by the largest set that does.
func TestMatchAttribute(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	model := resourcev1.FullyQualifiedName("d/model")
	alike := templateOf(requestFor("gpu", 2))
	alike.Spec.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &model}}
	o.Templates[inDefault("t")] = alike
	s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("t"))}
	out := NewCounter(plain{}).Count(s, o)
	if got := amount(out.Nodes[0].Allocatable(), anyGPU+", alike in d/model"); got != 2 {
		t.Errorf("%d devices are alike: %v", got, out.Nodes[0].Allocatable())
	}
}

// What does not count: incomplete pools, older generations, devices with taints or shared
// counters, and those for which an expression cannot be evaluated.
func TestDevicesThatDoNotCount(t *testing.T) {
	tainted, partition, other := deviceOf("3", "ab"), deviceOf("4", "ab"), resourcev1.Device{Name: "5"}
	tainted.Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	partition.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "s"}}
	for name, c := range map[string]struct {
		change func(*Objects)
		want   int64
	}{
		"as it is":   {func(*Objects) {}, 3},
		"incomplete": {func(o *Objects) { o.Slices["n"].Spec.Pool.ResourceSliceCount = 2 }, 0},
		"older": {func(o *Objects) {
			newer := sliceOf("n", deviceOf("0", "ab"))
			newer.Spec.Pool.Generation = 2
			o.Slices["newer"] = newer
		}, 1},
		"tainted":   {func(o *Objects) { o.Slices["n"].Spec.Devices[0] = tainted }, 2},
		"partition": {func(o *Objects) { o.Slices["n"].Spec.Devices[0] = partition }, 2},
		"no answer": {func(o *Objects) { o.Slices["n"].Spec.Devices[0] = other }, 0},
	} {
		var classes snapshot.Classes
		s, o := world()
		o.Templates[inDefault("a")] = templateOf(requestFor("gpu", 1, "model=a"))
		c.change(o)
		s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("a"))}
		if got := amount(NewCounter(plain{}).Count(s, o).Nodes[0].Allocatable(), "devices of class gpu with model=a"); got != c.want {
			t.Errorf("%s: %d devices, want %d", name, got, c.want)
		}
	}
}

// What a node has by its resources can be given out, and nothing else: against trying all ways to
// give devices to requests.
func TestResourcesSayWhatCanBeAllocated(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	for range 2000 {
		kinds, all := make([]string, 1+random.IntN(mostJoint)), map[string]*kind{}
		for i := range kinds {
			kinds[i] = fmt.Sprint("k", i)
			all[kinds[i]] = &kind{}
		}
		h := &host{devices: make([]*catalog.Device, random.IntN(7)), selected: map[string][]bool{}}
		for i := range h.devices {
			h.devices[i] = &catalog.Device{Driver: "d"}
		}
		for _, k := range kinds {
			for range h.devices {
				h.selected[k] = append(h.selected[k], random.IntN(3) == 0)
			}
		}
		wanted, requests := asked{}, []string{}
		for range random.IntN(6) {
			k := kinds[random.IntN(len(kinds))]
			wanted[k]++
			requests = append(requests, k)
		}
		dims := dimensions(all, []*host{h})
		has, _ := h.has(dims, func(int) bool { return false })
		fits := true
		for name, n := range asksFor(wanted, dims, nil) {
			fits = fits && n <= has[name]
		}
		if want := allocates(h, requests, map[int]bool{}); fits != want {
			t.Fatalf("seed %d: %v on %v: %v by resources, %v by trying", seed, requests, h.selected, fits, want)
		}
	}
}

func allocates(h *host, requests []string, used map[int]bool) bool {
	if len(requests) == 0 {
		return true
	}
	for i := range h.devices {
		if h.selected[requests[0]][i] && !used[i] {
			used[i] = true
			if allocates(h, requests[1:], used) {
				return true
			}
			used[i] = false
		}
	}
	return false
}

// A machine on its way has what the least of the types has that it may become.
func TestMachinesOnTheirWay(t *testing.T) {
	for _, c := range []struct {
		types []string
		want  int64
	}{{[]string{"big"}, 3}, {[]string{"big", "small"}, 1}, {[]string{"big", "none"}, 0}} {
		var classes snapshot.Classes
		s, o := world()
		small := &catalog.Type{Name: "small", Devices: []catalog.Device{{Driver: "d", Device: new(deviceOf("0", "a"))}}}
		s.Pools[0].Types = append(s.Pools[0].Types, small, &catalog.Type{Name: "none"})
		s.Nodes = append(s.Nodes, &snapshot.Node{Name: "coming", Claim: &snapshot.Claim{
			Name: "coming", Pool: "p", Requirements: requirement.NewSet(requirement.Must(corev1.LabelInstanceTypeStable, requirement.In, c.types...)),
		}})
		s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("any"))}
		if got := amount(NewCounter(plain{}).Count(s, o).Nodes[1].Allocatable(), anyGPU); got != c.want {
			t.Errorf("as one of %v: %d devices, want %d", c.types, got, c.want)
		}
		// A Node that has joined has them before its drivers publish, the pods on it included.
		joined := nodeOf("coming", podOf(&classes, "early", "coming", fromTemplate("any")))
		joined.Object.Labels = nil
		joined.Claim, s.Nodes[1] = s.Nodes[1].Claim, joined
		if got := amount(NewCounter(plain{}).Count(s, o).Nodes[1].Allocatable(), anyGPU); got != c.want {
			t.Errorf("joined as one of %v: %d devices, want %d", c.types, got, c.want)
		}
	}
}

// What was learned of a driver stands for what the cloud tells of it; other drivers are as told.
func TestWhatIsLearnedComesFirst(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	big := s.Pools[0].Types[0]
	for i := range 5 {
		big.Devices = append(big.Devices, catalog.Device{Driver: "d", Device: new(deviceOf(fmt.Sprint(i), "a"))})
	}
	big.Devices = append(big.Devices, catalog.Device{Driver: "other", Device: new(deviceOf("0", "a"))})
	s.Nodes = append(s.Nodes, nodeOf("broken"))
	o.Slices["broken"] = sliceOf("broken", deviceOf("0", "a"))
	s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("any"))}
	out := NewCounter(plain{}).Count(s, o)
	if got := amount(out.Pools[0].Types[0].Capacity, anyGPU); got != 4 {
		t.Errorf("%d devices, want 3 that a node has and the other driver's", got)
	}
	if got := out.Pools[0].Types[0].Drivers[anyGPU]; !slices.Equal(got, []string{"d", "other"}) {
		t.Errorf("drivers %v", got)
	}
	without := *out.Pools[0].Types[0]
	without.Drivers = map[corev1.ResourceName][]string{anyGPU: {"other"}}
	if got, _ := Drivers(out.Pending, []catalog.Choice{{Type: out.Pools[0].Types[0]}, {Type: &without}}); !slices.Equal(got, []string{"other"}) {
		t.Errorf("drivers of whichever it becomes: %v", got)
	}
}

func TestChunksOfBuffersClaimDevices(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	chunk := podOf(&classes, "chunk", "", fromTemplate("any"))
	s.Buffers = []*snapshot.Buffer{{Namespace: "default", Name: "b", Chunk: chunk, Rest: chunk.Class, Count: 2}, {Name: "unknown"}}
	b := NewCounter(plain{}).Count(s, o).Buffers[0]
	for _, class := range []*snapshot.Class{b.Chunk.Class, b.Rest} {
		if q := class.Requests.Get(anyGPU); q.Value() != 1 {
			t.Errorf("a chunk asks for %s", q.String())
		}
	}
}

// Access for administrators takes nothing, and a taint without an effect excludes no device.
func TestWhatTakesNoDevice(t *testing.T) {
	var classes snapshot.Classes
	s, o := world()
	o.Slices["fabric"] = sliceOf("n", deviceOf("9", "a"))
	o.Slices["fabric"].Spec.NodeName, o.Slices["fabric"].Spec.AllNodes = nil, new(true)
	o.Slices["n"].Spec.Devices[0].Taints = []resourcev1.DeviceTaint{{Key: "seen", Effect: resourcev1.DeviceTaintEffectNone}}
	o.Claims[inDefault("agent")] = &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "n", Device: "1", AdminAccess: new(true)}}},
	}}}
	s.Pending = []*snapshot.Pod{podOf(&classes, "x", "", fromTemplate("any"))}
	if got := amount(NewCounter(plain{}).Count(s, o).Nodes[0].Allocatable(), anyGPU); got != 3 {
		t.Errorf("%d devices are free, want 3", got)
	}
}
