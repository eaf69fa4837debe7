package checkup

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/account"
	"github.com/millwright-dev/millwright/doctor/source"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/plan"
)

// Input is what an inventory is made of. What is added later replaces objects of the same kind
// and name. Its zero value is empty; it is not safe for concurrent use.
type Input struct {
	// Skipped is what was not examined, and why.
	Skipped []string
	// Denied says that it is so of some for want of rights.
	Denied bool

	objects []client.Object
	written []manifest.Object
	sources source.Set
	// places say where what a source is made of is written.
	places map[*source.Source]func(doctor.Finding) string
	// queued are where queues are written.
	queued map[string]string
	groups []doctor.NodeGroup
	queues []account.Queue
	cloud  account.Account
	whole  bool
	types  func() ([]*catalog.Type, error)
}

// skip says what is not examined.
func (in *Input) skip(warn func(format string, args ...any), format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	in.Skipped = append(in.Skipped, what)
	warn("not examined: %s", what)
}

// deny says of a kind that it may not be read.
func (in *Input) deny(kind doctor.Kind, warn func(format string, args ...any), format string, args ...any) {
	in.whole, in.Denied = in.whole && kind.Alone, true
	in.skip(warn, format, args...)
}

// AddManifests adds what was written by hand.
func (in *Input) AddManifests(objects []manifest.Object) error {
	in.written = append(in.written, objects...)
	for _, o := range objects {
		if o.NodeClass { // read without a type
			raw, err := json.Marshal(o.Object)
			if err != nil {
				return fmt.Errorf("%s: %w", o, err)
			}
			typed, err := doctor.Decode(raw, "")
			if err != nil {
				return o.Errorf("", "%v", err)
			}
			if o.Object = typed; typed == nil {
				continue
			}
		}
		in.objects = append(in.objects, o.Object)
		in.sources.Drop(o.Object)
	}
	return nil
}

// everywhere are kinds that no cluster is without.
var everywhere = []string{"DaemonSet", "Deployment", "Node"}

// AddDump adds what a cluster had when its objects were written down. One without a kind that
// every cluster has counts as a part of it.
func (in *Input) AddDump(dump *manifest.Result, warn func(format string, args ...any)) error {
	if err := in.AddManifests(dump.Objects); err != nil {
		return err
	}
	in.whole = true
	for _, refused := range dump.Refused {
		for _, kind := range doctor.Kinds() {
			if d := refused.Details; d != nil && kind.List != nil && d.Group == kind.Group && d.Kind == listing.Kind(kind.List()) {
				in.deny(kind, warn, "%s", refused.Message)
			}
		}
	}
	for _, kind := range everywhere {
		if !slices.ContainsFunc(dump.Objects, func(o manifest.Object) bool { return o.Kind == kind }) {
			in.whole = false
			warn("the dump has no %s: what is not in it counts as elsewhere", kind)
		}
	}
	return nil
}

// AddSource adds what a source generates. place, which may be nil, says where a finding is
// written.
func (in *Input) AddSource(src *source.Source, place func(doctor.Finding) string) error {
	objects, err := in.sources.Add(src)
	if err != nil {
		return err
	}
	if place != nil {
		if in.places == nil {
			in.places = map[*source.Source]func(doctor.Finding) string{}
		}
		in.places[src] = place
	}
	in.objects = append(in.objects, objects...)
	return nil
}

// Examine runs every check, and finds the fix of each finding in what its object comes from.
func (in *Input) Examine() ([]doctor.Finding, error) {
	objects := in.latest()
	inventory := doctor.New(objects, in.whole)
	if in.types != nil {
		inventory.Types = typesOf(in.types, objects)
	}
	inventory.Add(in.groups...)
	inventory.Queues, inventory.Account = in.queues, in.cloud
	findings := doctor.Examine(inventory)
	if err := in.sources.Mend(findings); err != nil {
		return nil, err
	}
	return findings, nil
}

// latest are the objects without those that later ones replace.
func (in *Input) latest() []client.Object {
	seen := map[plan.ObjectRef]bool{}
	var out []client.Object
	for _, o := range slices.Backward(in.objects) {
		ref := plan.ObjectRef{Kind: doctor.KindOf(o), Namespace: o.GetNamespace(), Name: o.GetName()}
		if ref.Kind != "" && seen[ref] {
			continue
		}
		seen[ref] = true
		out = append(out, o)
	}
	slices.Reverse(out)
	return out
}

// Where is the place of a finding in what was written, such as pools.yaml:12, empty if it is not
// known.
func (in *Input) Where(f doctor.Finding) string {
	if at := place(in.written)(f); at != "" {
		return at
	}
	if f.Object.Kind == "Queue" {
		return in.queued[f.Object.Name]
	}
	if at := in.places[in.sources.Of(f.Object)]; at != nil {
		return at(f)
	}
	return ""
}
