package backoff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/backoff"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/lifecycle"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// images is a pool with a cheap type of the image x86 and a dear one of arm; others
// are none of its business.
func images(failures ...snapshot.Failure) *snapshot.Pool {
	machine := func(name, image, arch string) *catalog.Type {
		return &catalog.Type{
			Name: name, Image: image,
			Requirements: requirement.NewSet(requirement.Must(corev1.LabelArchStable, requirement.In, arch)),
			Offerings:    []catalog.Offering{{Zone: "a", CapacityType: "spot", Available: true}},
		}
	}
	return &snapshot.Pool{
		Name: "web", Hash: "t", Failures: failures,
		Requirements: requirement.NewSet(requirement.Must(corev1.LabelArchStable, requirement.NotIn, "s390x")),
		Types:        []*catalog.Type{machine("m5", "x86", "amd64"), machine("m6g", "arm", "arm64"), machine("z", "big", "s390x")},
	}
}

// launches says what a pool may launch.
func launches(p *snapshot.Pool) string {
	var out []string
	for _, c := range catalog.Rank(p.Types, p.Requirements, nil, nil) {
		out = append(out, c.Type.Name)
	}
	text := strings.Join(out, " ")
	if p.NotReady != "" {
		text = "nothing"
	}
	if p.OnTrial {
		text += ", one at a time"
	}
	if len(p.TrialImages) > 0 {
		text += fmt.Sprint(", one at a time of ", p.TrialImages)
	}
	return text
}

func of(image string) func(*snapshot.Claim) {
	return func(c *snapshot.Claim) { c.Image = image }
}

// story is a pool whose machines of the given images failed one after the other, a
// minute each; an image in capitals got ready.
func story(text string) *snapshot.Pool {
	p := images()
	var claims []*snapshot.Claim
	for i, image := range strings.Fields(text) {
		how := failed
		if image == strings.ToUpper(image) {
			how = ready
		}
		claims = append(claims, claim(fmt.Sprint("c", i), "t", "m5", func(c *snapshot.Claim) {
			of(strings.ToLower(image))(c)
			how(time.Duration(i) * time.Minute)(c)
			c.Labels = nil // offerings are another test's
		}))
		p.Failures = backoff.Count(p.Failures, claims, "t")
	}
	return p
}

func TestAnImagePausesAloneAslongAsThePoolCanBeHadWithAnother(t *testing.T) {
	for _, tc := range []struct {
		story string
		after time.Duration
		want  string
		says  string
	}{
		{"x86 x86", 0, "m5 m6g", ""},
		{"x86 x86 x86", 0, "m6g", "LaunchesPaused: 3 machines of image x86 in a row failed (registration_timeout, last nodeclaim/c2); no other is launched before 2026-01-02T12:04:00Z"},
		{"x86 x86 x86", 2 * time.Minute, "m5 m6g, one at a time of [x86]", "LaunchesOnTrial: 3 machines of image x86 in a row failed (registration_timeout, last nodeclaim/c2); one at a time is launched until one becomes ready"},
		{"x86 x86 x86 ARM", 0, "m6g", "LaunchesPaused: 3 machines of image x86"},
		{"x86 x86 x86 X86", 0, "m5 m6g", ""},
		// Another one that fails as well puts the template under suspicion.
		{"x86 x86 arm", 0, "nothing", "LaunchesPaused: 3 machines in a row failed"},
		{"x86 x86 arm", 2 * time.Minute, "m6g, one at a time", "LaunchesOnTrial: 3 machines in a row failed"},
		{"x86 x86 x86 arm", 0, "nothing", "LaunchesPaused: 4 machines in a row failed"},
		{"x86 x86 x86 arm ARM", 0, "m5 m6g, one at a time of [x86]", "LaunchesOnTrial: 3 machines of image x86"},
		{"x86 x86 x86 ARM arm arm arm", 0, "m5, one at a time", "LaunchesOnTrial: 3 machines of image x86"},
	} {
		p := story(tc.story)
		now := noon.Add(time.Duration(len(strings.Fields(tc.story))-1)*time.Minute + tc.after)
		if got := launches(backoff.Apply(p, nil, now)); got != tc.want {
			t.Errorf("%s, %v later: launches %s, want %s", tc.story, tc.after, got, tc.want)
		}
		says := ""
		if r, ok := backoff.Worst(p, now); ok {
			says = string(r.Code) + ": " + r.Message()
		}
		if says != tc.says && (tc.says == "" || !strings.HasPrefix(says, tc.says)) {
			t.Errorf("%s, %v later: says %s\nwant %s", tc.story, tc.after, says, tc.says)
		}
	}
}

func TestAPoolOfOneImagePausesAsAWhole(t *testing.T) {
	p := story("x86 x86 x86")
	p.Requirements = requirement.NewSet(requirement.Must(corev1.LabelArchStable, requirement.In, "amd64"))
	if got := launches(backoff.Apply(p, nil, noon.Add(3*time.Minute))); got != "nothing" {
		t.Errorf("launches %s", got)
	}
	if got := launches(backoff.Apply(p, nil, noon.Add(5*time.Minute))); got != "m5, one at a time" {
		t.Errorf("on trial it launches %s", got)
	}
}

func TestANewImageOfThePoolIsLaunchedAtOnce(t *testing.T) {
	p := story("old old old")
	if got := launches(backoff.Apply(p, nil, noon.Add(3*time.Minute))); got != "m5 m6g" {
		t.Errorf("launches %s", got)
	}
}

func TestWhileAMachineIsOnTrialNothingElseIsPlannedWithItsImage(t *testing.T) {
	p := story("x86 x86 x86")
	now := noon.Add(10 * time.Minute)
	for name, tc := range map[string]struct {
		change func(*snapshot.Claim)
		want   string
	}{
		"launched":     {of("x86"), "m6g"},
		"other image":  {of("arm"), "m5 m6g, one at a time of [x86]"},
		"planned only": {func(c *snapshot.Claim) { c.ProviderID, c.Annotations[lifecycle.PlannedAnnotation] = "", "m5/a/spot" }, "m6g"},
		"other pool":   {func(c *snapshot.Claim) { of("x86")(c); c.Pool = "db" }, "m5 m6g, one at a time of [x86]"},
		"given up":     {func(c *snapshot.Claim) { of("x86")(c); c.Deleted = now }, "m5 m6g, one at a time of [x86]"},
	} {
		c := claim("trial", "t", "m5", func(c *snapshot.Claim) { c.Pool = "web" })
		tc.change(c)
		nodes := []*snapshot.Node{{Name: "n", Claim: c}}
		if got := launches(backoff.Apply(p, nodes, now)); got != tc.want {
			t.Errorf("%s: launches %s, want %s", name, got, tc.want)
		}
	}
}
