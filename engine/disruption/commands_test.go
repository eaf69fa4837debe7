package disruption

import (
	"strings"
	"testing"
)

func TestAReplacementCannotBecomeDearerThanItMayBe(t *testing.T) {
	const before = "pool p hash=2 policy=WhenEmptyOrUnderutilized sells=old:16:4,small:4:1,small2:4:1.4,middle:8:1.6,spot:8:1.2:spot\nnode a pool=p type=old cpu=16 "
	for command, want := range map[string]string{
		"command=Underutilized/claim-a//1.5": "small small2",
		"command=Underutilized/claim-a//1.6": "small small2 middle",
		"command=Drifted/claim-a":            "small spot small2 middle old",
	} {
		d := Decide(build(t, before+"hash=1 "+command+"\npod x/a cpu=3 on=a"), Options{})
		if len(d.Commands) != 1 || len(d.Commands[0].Launch) != 1 {
			t.Errorf("%s: %+v", command, d.Commands)
			continue
		}
		var types []string
		for _, a := range d.Commands[0].Launch[0].Alternatives {
			types = append(types, a.Type.Name)
		}
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%s: it may become one of %q, want %q", command, got, want)
		}
	}
}
