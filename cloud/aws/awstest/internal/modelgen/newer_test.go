package main

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// A new version of the SDK may send what the tables do not know: then make aws-models.
func TestTheTablesKnowEveryMemberThatTheSDKSends(t *testing.T) {
	for _, s := range services {
		text, err := os.ReadFile("../../wire/tables/zz_generated." + s.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var known table
		if err := json.Unmarshal(text, &known); err != nil {
			t.Fatal(err)
		}
		for _, input := range s.inputs {
			root := reflect.TypeOf(input)
			w := walker{table: &known, enumerated: func(shape, []string) {}, found: func(_ []int, _ shape, field reflect.StructField) error {
				t.Errorf("%s: %s %s is not in the table", s.name, root.Name(), field.Name)
				return nil
			}}
			if err := w.walk(root, known.Operations[operationOf(input)]["input"].(shape), nil, nil); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWhatIsNewerIsDescribedByWhatTheSDKWrites(t *testing.T) {
	root := reflect.TypeFor[struct{}]()
	for _, input := range services[0].inputs {
		if operationOf(input) == "CreateFleet" {
			root = reflect.TypeOf(input)
		}
	}
	field, _ := root.FieldByName("ReservedCapacityOptions")
	got, err := newer(root, field.Index)
	if err != nil {
		t.Fatal(err)
	}
	list := got["members"].(shape)["ReservationTypes"].(shape)
	if got["locationName"] != "reservedCapacityOptions" || list["locationName"] != "reservationType" || list["type"] != "list" {
		t.Errorf("got %v", got)
	}
}
