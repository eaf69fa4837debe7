package provider

import (
	"context"
	"errors"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
)

// The images of an alias are those of the control plane's version, also when it is upgraded while
// the process runs. One that does not answer has the version that it had.
func TestImagesFollowTheControlPlane(t *testing.T) {
	r := newRig(t)
	p := r.provider()
	now, err := "1.35", error(nil)
	p.Version = func(context.Context) (string, error) { return now, err }
	images := func() string {
		t.Helper()
		class := readyClass()
		discovering(class)
		if _, err := p.Resolve(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		c := class.StatusConditions().Get(ec2class.ConditionTypeAMIsReady)
		return string(c.Status) + " " + c.Message
	}
	now = "1.36" // of which the emulator has no images
	r.must(p.readVersion(t.Context()))
	if got := images(); got != "True " {
		t.Errorf("asked too early: %s", got)
	}
	r.clock.Step(versionEvery)
	r.must(p.readVersion(t.Context()))
	if got := images(); !strings.Contains(got, "False") || !strings.Contains(got, "for Kubernetes 1.36") {
		t.Errorf("after the upgrade: %s", got)
	}
	r.clock.Step(versionEvery)
	now, err = "", errors.New("the API server is away")
	if got := p.readVersion(t.Context()); got == nil || p.version.read() != "1.36" {
		t.Errorf("answered %v, and the version is %q", got, p.version.read())
	}
}
