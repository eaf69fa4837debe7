package rights

import (
	"slices"
	"testing"

	"github.com/aws/smithy-go"
)

// A condition has the words: they change with what is refused, not with each machine that is.
func TestAnotherMachineIsTheSameRefusal(t *testing.T) {
	const resource = "arn:aws:ec2:us-west-2:1:"
	refusal := func(on string) error {
		return &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "not authorized to perform: ec2:X on resource: " + resource + on + " because no policy allows it"}
	}
	for _, tt := range []struct{ first, then, want string }{
		{"instance/i-1", "instance/i-2", "instance/i-1"},
		{"instance/i-1", "subnet/s-1", "subnet/s-1"},
		{"instance/*", "instance/i-2", "instance/*"},
	} {
		var r Record
		r.answered("ec2:X", refusal(tt.first))
		r.answered("ec2:X", refusal(tt.then))
		want := "ec2:X: not authorized to perform: ec2:X on resource: " + resource + tt.want + " because no policy allows it"
		if got := r.Missing(); !slices.Equal(got, []string{want}) {
			t.Errorf("after %s and %s: %q", tt.first, tt.then, got)
		}
		if r.answered("ec2:X", nil); len(r.Missing()) > 0 {
			t.Errorf("still missing: %q", r.Missing())
		}
	}
}
