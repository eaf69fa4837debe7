package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"helm.sh/helm/v4/pkg/chart/v2"

	"github.com/millwright-dev/millwright/doctor/finding"
	"github.com/millwright-dev/millwright/doctor/source"
)

// Where a cluster keeps its releases: in Secrets of this type, of which those with these labels
// are in force. The key is that of the Secret's data.
const (
	StoredType = "helm.sh/release.v1"
	StoredKey  = "release"
)

// StoredLabels select the releases that are in force.
func StoredLabels() map[string]string {
	return map[string]string{"owner": "helm", "status": "deployed"}
}

// most is how large a release may be once it is unpacked, in bytes; a Secret holds 1 MiB.
const most = 64 << 20

// Stored is the source of a release that a cluster keeps: the chart with its templates and what
// was set. Charts within the chart are not kept, so what they generate is not known.
func Stored(data []byte) (*source.Source, error) {
	text, err := unpack(data)
	if err != nil {
		return nil, fmt.Errorf("reading a release: %w", err)
	}
	load := func() (*kept, error) {
		var k kept
		if err := json.Unmarshal(text, &k); err != nil {
			return nil, fmt.Errorf("reading a release: %w", err)
		}
		if k.Chart == nil || k.Chart.Metadata == nil {
			return nil, fmt.Errorf("reading a release: %s has no chart", k.Name)
		}
		k.Chart.Metadata.Dependencies = nil
		return &k, nil
	}
	k, err := load()
	if err != nil {
		return nil, err
	}
	r := release{name: k.Name, namespace: k.Namespace, load: func() (*v2.Chart, error) {
		k, err := load()
		if err != nil {
			return nil, err
		}
		return k.Chart, nil
	}}
	command := fmt.Sprintf("helm upgrade %s REPOSITORY/%s --version %s -n %s --reuse-values", finding.Word(k.Name), finding.Word(k.Chart.Name()), finding.Word(k.Chart.Metadata.Version), finding.Word(k.Namespace))
	src, err := r.source(k.Chart, k.Config, valuesFile(k.Name, func(map[string]any) string { return command }))
	if err != nil {
		return nil, err
	}
	src.Name = fmt.Sprintf("release %s/%s (%s %s)", k.Namespace, k.Name, k.Chart.Name(), k.Chart.Metadata.Version)
	return src, nil
}

// kept is what is kept of a release.
type kept struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Chart     *v2.Chart      `json:"chart"`
	Config    map[string]any `json:"config"`
}

// unpack undoes Helm's packing: base64 of gzip.
func unpack(data []byte) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it is larger than %d MiB", most>>20)
	}
	return text, err
}
