package observed_test

import (
	"maps"
	"testing"

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
