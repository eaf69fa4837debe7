package cli

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/offline"
	"github.com/millwright-dev/millwright/cli/running"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/devicecel"
)

// read reads manifests, of which there must be some.
func (c console) read(args []string, recursive bool) (*manifest.Result, error) {
	files, err := manifest.Find(args, recursive)
	if err != nil {
		return nil, err
	}
	input, err := manifest.Read(files, c.In)
	switch {
	case err != nil:
		return nil, err
	case len(input.Objects)+len(input.Ignored) == 0:
		return nil, fmt.Errorf("there is no object in %s", strings.Join(args, ", "))
	}
	return input, offline.CheckPods(input.Objects)
}

// survey reads manifests as well, and says what of them does not count.
func (c console) survey(files []string, recursive bool) (*manifest.Result, error) {
	input, err := c.read(files, recursive)
	if err != nil {
		return nil, err
	}
	for _, file := range input.Empty {
		c.warn("%s: the file holds no object", file)
	}
	for _, refused := range input.Refused {
		c.warn("counts as none, as the dump lacks them: %s", refused.Message)
	}
	if len(input.Ignored) > 0 {
		c.note("left out, because planning does not look at them: %s", offline.Counts(input.Ignored))
	}
	input.Objects = c.unique(input.Objects)
	return input, nil
}

// read turns the files into the state of a cluster, and returns the objects that are in it as well.
func (o *planOptions) read(c console) (*cluster.Store, []manifest.Object, error) {
	input, err := c.survey(o.files, o.recursive)
	if err != nil {
		return nil, nil, err
	}
	objects := input.Objects
	if pod := running.PodAmong(bare(objects)); pod != nil {
		o.controller.from(pod, c)
	}
	c.warnOf(offline.Faults(objects))
	c.warnOf(offline.Classless(objects))
	pools := slices.ContainsFunc(objects, isPool)
	objects, foreign := offline.Classed(objects)
	c.warnOf(foreign)
	store := cluster.NewStore(cluster.Options{Offline: true, Devices: devicecel.New(), Spread: o.controller.planning.Spread})
	for _, obj := range offline.Complete(objects) {
		store.Update(obj)
	}
	store.MarkSynced()
	if !pools {
		c.warn("there is no NodePool among the manifests, so nothing can be launched")
	}
	return store, objects, nil
}

// bare are the objects without their places in files.
func bare(objects []manifest.Object) []client.Object {
	out := make([]client.Object, len(objects))
	for i, o := range objects {
		out[i] = o.Object
	}
	return out
}

func isPool(o manifest.Object) bool { return o.Kind == "NodePool" }

// unique drops objects that a later one replaces, as applying the files in turn would.
func (c console) unique(objects []manifest.Object) []manifest.Object {
	last := make(map[string]int, len(objects))
	for i, o := range objects {
		if before, ok := last[o.String()]; ok {
			c.warn("%s:%d: %s replaces the one at %s:%d", o.File, o.Line, o, objects[before].File, objects[before].Line)
		}
		last[o.String()] = i
	}
	out := make([]manifest.Object, 0, len(last))
	for i, o := range objects {
		if last[o.String()] == i {
			out = append(out, o)
		}
	}
	return out
}
