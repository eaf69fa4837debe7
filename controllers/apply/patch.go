package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patch sends the difference that change makes, the status in a request of its
// own after the rest, each bound to the state that it was computed from. A state that is known
// to be superseded is not written to: where the watch lags behind, loops that read old objects
// would keep the API server busy with conflicts.
func patch[T client.Object](ctx context.Context, w *Writer, obj T, change func(T)) (T, error) {
	after := obj.DeepCopyObject().(T)
	change(after)
	if apiequality.Semantic.DeepEqual(obj, after) {
		return after, nil
	}
	main, status, err := difference(obj, after)
	if err != nil {
		return obj, fmt.Errorf("comparing %s: %w", obj.GetName(), err)
	}
	state := stateOf(obj)
	if _, old := w.superseded.Get(state); old {
		return obj, apierrors.NewConflict(schema.GroupResource{}, obj.GetName(), errSuperseded)
	}
	answer := obj.DeepCopyObject().(T)
	for _, step := range []struct {
		diff map[string]any
		send func(context.Context, client.Object, client.Patch) error
	}{{main, w.api.Patch}, {status, w.api.PatchStatus}} {
		if len(step.diff) == 0 {
			continue
		}
		body, err := locked(step.diff, answer.GetResourceVersion())
		if err != nil {
			return obj, fmt.Errorf("encoding the patch of %s: %w", obj.GetName(), err)
		}
		err = step.send(ctx, answer, body)
		if apierrors.IsConflict(err) || answer.GetResourceVersion() != obj.GetResourceVersion() {
			w.superseded.Add(state, nil)
		}
		if err != nil {
			return obj, fmt.Errorf("patching %s: %w", obj.GetName(), err)
		}
		w.learn(answer.DeepCopyObject().(T))
	}
	return answer, nil
}

// state is an object as it once was.
type state struct {
	of      reflect.Type
	name    types.NamespacedName
	uid     types.UID
	version string
}

func stateOf(obj client.Object) state {
	return state{reflect.TypeOf(obj), client.ObjectKeyFromObject(obj), obj.GetUID(), obj.GetResourceVersion()}
}

// learn puts the server's answer into the store. An object that is being deleted
// is gone once its last finalizer is.
func (w *Writer) learn(answer client.Object) {
	if answer.GetDeletionTimestamp() != nil && len(answer.GetFinalizers()) == 0 {
		w.store.Delete(answer)
		return
	}
	w.store.Update(answer)
}

// difference is the merge patch from one state to the other, in two parts.
func difference(before, after client.Object) (main, status map[string]any, err error) {
	body, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(body, &main); err != nil {
		return nil, nil, err
	}
	if part, ok := main["status"].(map[string]any); ok {
		status = map[string]any{"status": part}
		delete(main, "status")
	}
	return main, status, nil
}

// locked makes a patch that only applies to the given resource version.
func locked(diff map[string]any, resourceVersion string) (client.Patch, error) {
	diff = maps.Clone(diff)
	metadata, _ := diff["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = resourceVersion
	diff["metadata"] = metadata
	body, err := json.Marshal(diff)
	return client.RawPatch(types.MergePatchType, body), err
}
