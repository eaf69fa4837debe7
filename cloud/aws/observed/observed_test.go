package observed_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/millwright-dev/millwright/cloud/aws/observed"
)

func TestTheSmallestMemoryOfAKindIsKept(t *testing.T) {
	r := observed.Read("")
	large := observed.Kind{Type: "m5.large", Image: "ami-1"}
	for _, bytes := range []int64{8000, 7900, 8100, 0} {
		r.Learn(large, bytes)
	}
	r.Learn(observed.Kind{Type: "m5.large", Image: "ami-2"}, 7000)
	r.Learn(observed.Kind{Type: "m6g.large", Image: "ami-3"}, 7500)
	r.Learn(observed.Kind{Type: "m5.xlarge"}, 16000)
	const want = `{"m5.large/ami-1":7900,"m5.large/ami-2":7000,"m6g.large/ami-3":7500}`
	if got := r.Text(); got != want || !maps.Equal(observed.Read(got), r) {
		t.Errorf("kept is %s, and read again %v; want %s", got, observed.Read(got), want)
	}
	if got := r.ByType(); got["m5.large"] != 7000 || len(got) != 2 {
		t.Errorf("by type it is %v", got)
	}
	r.Keep(map[string]bool{"ami-1": true})
	if got := r.Text(); got != `{"m5.large/ami-1":7900}` {
		t.Errorf("of one image it is %s", got)
	}
	r.Keep(nil)
	if got := r.Text(); got != "" {
		t.Errorf("of no image it is %s", got)
	}
}

func TestWhatMakesNoSenseIsLeftOut(t *testing.T) {
	for _, text := range []string{"", "x", "[]", `{"a":"b"}`, `{"m5.large":1}`, `{"m5.large/ami-1":-1}`} {
		if got := observed.Read(text); len(got) > 0 {
			t.Errorf("%s is %v", text, got)
		}
	}
}

func TestCommonToAllKindsIsTheLeastThatOneOfThemLacks(t *testing.T) {
	amounts := func(cpu, memory, pages string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "hugepages-2Mi": resource.MustParse(pages), "example.com/device": resource.MustParse("0")}
	}
	expected := map[string]corev1.ResourceList{"small": amounts("2", "8Gi", "0"), "large": amounts("16", "64Gi", "0")}
	a := observed.ReadAllocatable("", "1")
	learn := func(typeName string, node corev1.ResourceList) string {
		a.Learn(observed.Kind{Type: typeName, Image: "ami-1"}, node, expected[typeName])
		a.Compare(func(name string) corev1.ResourceList { return expected[name] })
		return a.Text()
	}
	for _, step := range []struct {
		of   string
		node corev1.ResourceList
		want string
	}{
		{"small", amounts("1500m", "5Gi", "2Gi"), `{"hash":"1","least":{"small/ami-1":{"cpu":"1500m","hugepages-2Mi":"2Gi","memory":"5Gi"}},` +
			`"common":{"cpu":{"amount":"500m","share":0.25},"memory":{"amount":"1Gi","share":0.125}}}`},
		{"large", amounts("14", "64Gi", "0"), `{"hash":"1","least":{"large/ami-1":{"cpu":"14"},"small/ami-1":{"cpu":"1500m","hugepages-2Mi":"2Gi","memory":"5Gi"}},` +
			`"common":{"cpu":{"amount":"500m","share":0.125}}}`},
		{"large", amounts("16", "64Gi", "0"), `{"hash":"1","least":{"large/ami-1":{"cpu":"14"},"small/ami-1":{"cpu":"1500m","hugepages-2Mi":"2Gi","memory":"5Gi"}},` +
			`"common":{"cpu":{"amount":"500m","share":0.125}}}`},
	} {
		if got := learn(step.of, step.node); got != step.want {
			t.Errorf("after a Node of %s the record is\n%s; want\n%s", step.of, got, step.want)
		}
	}
	if got := observed.ReadAllocatable(a.Text(), "1"); got.Text() != a.Text() {
		t.Errorf("read again it is %s", got.Text())
	}
	if got := observed.ReadAllocatable(a.Text(), "2"); len(got.Least) > 0 {
		t.Errorf("of another spec it is %s", got.Text())
	}
	for cpu, want := range map[string]string{"2": "250m", "32": "500m"} {
		if got := a.Common["cpu"].Of(resource.MustParse(cpu)); got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("of %s cpu %s are presumed to be lacking; want %s", cpu, got.String(), want)
		}
	}
}

// A device plugin may offer more than EC2 tells: shares of GPUs, slices of them under names of their
// own. What Nodes have now counts, as its settings may change.
func TestDevicesAreThoseThatAllNodesOfATypeHaveNow(t *testing.T) {
	list := func(pairs ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return out
	}
	const gpu, shared = "nvidia.com/gpu", "nvidia.com/gpu.shared"
	expected := list("cpu", "4", gpu, "1", "vpc.amazonaws.com/pod-eni", "18")
	a := observed.ReadAllocatable("", "1")
	for _, step := range []struct {
		name  string
		nodes []corev1.ResourceList
		want  string
	}{
		{"as expected", []corev1.ResourceList{list("cpu", "8", gpu, "1")}, ``},
		{"shares", []corev1.ResourceList{list(gpu, "8", "example.com/dongle", "1"), list(gpu, "4")}, `{"g4dn.xlarge":{"nvidia.com/gpu":"4"}}`},
		{"a plugin that has not told yet", []corev1.ResourceList{list(gpu, "4"), list(gpu, "0"), list("vpc.amazonaws.com/pod-eni", "18")}, `{"g4dn.xlarge":{"nvidia.com/gpu":"4"}}`},
		{"none of them left", nil, `{"g4dn.xlarge":{"nvidia.com/gpu":"4"}}`},
		{"under another name", []corev1.ResourceList{list(shared, "6")}, `{"g4dn.xlarge":{"nvidia.com/gpu.shared":"6"}}`},
		{"on some alone", []corev1.ResourceList{list(shared, "6"), list(gpu, "2")}, ``},
		{"more again", []corev1.ResourceList{list(gpu, "16")}, `{"g4dn.xlarge":{"nvidia.com/gpu":"16"}}`},
	} {
		a.LearnDevices("g4dn.xlarge", expected, step.nodes)
		want := ""
		if step.want != "" {
			want = `{"hash":"1","least":{},"devices":` + step.want + `}`
		}
		if got := a.Text(); got != want {
			t.Errorf("%s: the record is\n%s; want\n%s", step.name, got, want)
		}
	}
	// They are the plugin's to say, not the spec's.
	if got := observed.ReadAllocatable(a.Text(), "2"); got.Text() != `{"hash":"2","least":{},"devices":{"g4dn.xlarge":{"nvidia.com/gpu":"16"}}}` {
		t.Errorf("of another spec it is %s", got.Text())
	}
}
