package addon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/millwright-dev/millwright/cluster/decode"
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
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty; want what aws eks describe-addon prints")
		case err != nil:
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		if err := decode.JSON(raw, &doc); err != nil {
			return nil, fmt.Errorf("%w; not what aws eks describe-addon prints", err)
		}
		switch {
		case doc.Addon == nil || doc.Addon.AddonName == "":
			return nil, errors.New("no addon.addonName; want what aws eks describe-addon prints")
		}
		out = append(out, Addon{Cluster: doc.Addon.ClusterName, Name: doc.Addon.AddonName, Version: doc.Addon.AddonVersion, Configuration: doc.Addon.ConfigurationValues})
	}
}
