package addon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Read reads what `aws eks describe-addon` prints, of one add-on or of several one after
// another.
func Read(r io.Reader) ([]Addon, error) {
	dec := json.NewDecoder(r)
	var out []Addon
	for {
		var doc struct {
			Addon *struct {
				ClusterName         string `json:"clusterName"`
				AddonName           string `json:"addonName"`
				AddonVersion        string `json:"addonVersion"`
				ConfigurationValues string `json:"configurationValues"`
			} `json:"addon"`
		}
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		}
		wrong := &json.UnmarshalTypeError{}
		switch {
		case errors.As(err, &wrong):
			return nil, fmt.Errorf("%s, not what aws eks describe-addon prints", strings.TrimPrefix(wrong.Field+": "+wrong.Value, ": "))
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty; want what aws eks describe-addon prints")
		case err != nil:
			return nil, fmt.Errorf("not JSON: %w", err)
		case doc.Addon == nil || doc.Addon.AddonName == "":
			return nil, errors.New("no addon.addonName; want what aws eks describe-addon prints")
		}
		out = append(out, Addon{Cluster: doc.Addon.ClusterName, Name: doc.Addon.AddonName, Version: doc.Addon.AddonVersion, Configuration: doc.Addon.ConfigurationValues})
	}
}
