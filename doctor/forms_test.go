package doctor_test

import (
	"slices"
	"testing"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/doctortest"
)

func TestEveryCheckShowsInSomeFormAndEveryFormShowsChecks(t *testing.T) {
	var shown []string
	for _, f := range doctortest.Forms() {
		checks := doctortest.Checks(f)
		if len(checks) == 0 {
			t.Errorf("%s shows nothing", f)
		}
		for _, check := range checks {
			if !slices.Contains(doctor.Checks(), check) {
				t.Errorf("%s: there is no check %s", f, check)
			}
		}
		shown = append(shown, checks...)
	}
	for _, check := range doctor.Checks() {
		if !slices.Contains(shown, check) {
			t.Errorf("no form shows %s", check)
		}
	}
}
