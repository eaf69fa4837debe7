package image

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/requirement"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestAnAliasNamesParameters(t *testing.T) {
	for _, tt := range []struct{ family, version, want string }{
		{"AL2", "latest", "1.32/amazon-linux-2/recommended 1.32/amazon-linux-2-arm64/recommended 1.32/amazon-linux-2-gpu/recommended"},
		{"AL2", "v20260901", "1.32/amazon-linux-2/amazon-eks-node-1.32-v20260901 1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20260901 1.32/amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20260901"},
		{"AL2023", "latest", "1.32/amazon-linux-2023/x86_64/standard/recommended 1.32/amazon-linux-2023/arm64/standard/recommended 1.32/amazon-linux-2023/x86_64/nvidia/recommended 1.32/amazon-linux-2023/arm64/nvidia/recommended 1.32/amazon-linux-2023/x86_64/neuron/recommended"},
		{"Bottlerocket", "v1.50.0", "/aws/service/bottlerocket/aws-k8s-1.32/x86_64/1.50.0 /aws/service/bottlerocket/aws-k8s-1.32/arm64/1.50.0 /aws/service/bottlerocket/aws-k8s-1.32-nvidia/x86_64/1.50.0 /aws/service/bottlerocket/aws-k8s-1.32-nvidia/arm64/1.50.0"},
		{"Windows2022", "latest", "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.32"},
	} {
		parameters, err := Parameters(&ec2class.Alias{Family: tt.family, Version: tt.version}, "1.32")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range parameters {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(p.Name, "/aws/service/eks/optimized-ami/"), "/image_id"))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s@%s:\n%s, want\n%s", tt.family, tt.version, s, tt.want)
		}
	}
	pinned, _ := Parameters(&ec2class.Alias{Family: "AL2023", Version: "v20261001"}, "1.34")
	if want := "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.34-v20261001/image_id"; pinned[0].Name != want {
		t.Errorf("got %s, want %s", pinned[0].Name, want)
	}
}

func TestAliasesWithoutImagesForTheVersionAreRefused(t *testing.T) {
	for _, tt := range []struct {
		family, kubernetes string
		refused            bool
	}{
		{"AL2", "1.32", false}, {"AL2", "1.33", true}, {"Windows2025", "1.34", true}, {"Windows2025", "1.35", false}, {"AL2023", "1.36", false},
	} {
		if _, err := Parameters(&ec2class.Alias{Family: tt.family, Version: "latest"}, tt.kubernetes); (err != nil) != tt.refused {
			t.Errorf("%s on %s: %v", tt.family, tt.kubernetes, err)
		}
	}
}

func TestOfImagesForTheSameTheNewestThatIsNotDeprecatedIsTaken(t *testing.T) {
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	got := Selected([]Image{
		{ID: "ami-old", Name: "old", Arch: "amd64", Created: day(-9)},
		{ID: "ami-new", Name: "new", Arch: "amd64", Created: day(-5), Deprecated: day(300)},
		{ID: "ami-newest", Name: "newest", Arch: "amd64", Created: day(-1), Deprecated: day(0)},
		{ID: "ami-arm-old", Name: "a", Arch: "arm64", Created: day(-8), Deprecated: day(-1)},
		{ID: "ami-arm", Name: "b", Arch: "arm64", Created: day(-7), Deprecated: day(-1)},
		{ID: "ami-mac", Name: "c", Created: day(-7)},
	}, noon)
	var ids []string
	for _, a := range got {
		ids = append(ids, a.ID)
	}
	if want := []string{"ami-new", "ami-arm"}; !slices.Equal(ids, want) || got[0].Deprecated || !got[1].Deprecated {
		t.Errorf("got %+v, want %v", got, want)
	}
}

// labels are those of instance types of four kinds.
func labels(arch string, further ...string) requirement.Set {
	s := requirement.NewSet(requirement.Must(corev1.LabelArchStable, requirement.In, arch))
	for _, key := range []string{ec2class.LabelInstanceGPUCount, ec2class.LabelInstanceAcceleratorCount} {
		if slices.Contains(further, key) {
			s = s.With(requirement.Must(key, requirement.In, "1"))
		} else {
			s = s.With(requirement.Must(key, requirement.DoesNotExist))
		}
	}
	return s
}

// Machines of Windows alone start from its images, and only from those of their build.
func TestImagesOfWindowsAreForTheirBuild(t *testing.T) {
	parameters, err := Parameters(&ec2class.Alias{Family: "Windows2022", Version: "latest"}, "1.34")
	if err != nil {
		t.Fatal(err)
	}
	status := Aliased(parameters, map[string]string{parameters[0].Name: "ami-1"}, []Image{{ID: "ami-1", Created: noon}}, noon)
	if got, want := fmt.Sprint(status[0].Requirements), "[{kubernetes.io/os In [windows]} {kubernetes.io/arch In [amd64]} {node.kubernetes.io/windows-build In [10.0.20348]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	windows := labels("amd64").With(requirement.Must(corev1.LabelOSStable, requirement.In, "windows"))
	for build, want := range map[string]string{"10.0.20348": "ami-1", "10.0.17763": ""} {
		if got := For(status, windows.With(requirement.Must(corev1.LabelWindowsBuild, requirement.In, build))); got != want {
			t.Errorf("build %s starts from %q, want %q", build, got, want)
		}
	}
}

func TestEachKindOfHardwareHasItsImage(t *testing.T) {
	const gpu, chip = "karpenter.k8s.aws/instance-gpu-count", "karpenter.k8s.aws/instance-accelerator-count"
	for family, want := range map[string]string{
		"AL2023":       "x86_64/standard arm64/standard x86_64/nvidia arm64/nvidia x86_64/neuron",
		"Bottlerocket": "x86_64 arm64 -nvidia/x86_64 -nvidia/arm64 x86_64",
		"AL2":          "2/ 2-arm64 2-gpu  2-gpu",
	} {
		parameters, err := Parameters(&ec2class.Alias{Family: family, Version: "latest"}, "1.32")
		if err != nil {
			t.Fatal(err)
		}
		ids, images := map[string]string{}, []Image{}
		for _, p := range parameters {
			ids[p.Name] = "ami:" + p.Name
			images = append(images, Image{ID: ids[p.Name], Name: p.Name, Created: noon})
		}
		status := Aliased(parameters, ids, images, noon)
		for n, hardware := range []requirement.Set{labels("amd64"), labels("arm64"), labels("amd64", gpu), labels("arm64", gpu), labels("amd64", chip)} {
			got, part := For(status, hardware), strings.Split(want, " ")[n]
			if part == "" && got != "" || !strings.Contains(got, part) {
				t.Errorf("%s: hardware %d starts from %q, want %q", family, n, got, part)
			}
		}
	}
}
