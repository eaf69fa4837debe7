package controllers

import (
	"context"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/controllers/apply"
)

// unreadable tells of objects that the API server has admitted and that cannot be read.
type unreadable struct {
	ctx    context.Context
	writer atomic.Pointer[apply.Writer]
}

// report logs and publishes what cannot be read of an object, all of it with an error.
func (u *unreadable) report(obj client.Object, err error) {
	said := decode.Fault(obj)
	if err != nil {
		said = err.Error()
	}
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	log.FromContext(u.ctx).Info("an object, or a part of it, cannot be read and counts for nothing", "kind", kind, "object", client.ObjectKeyFromObject(obj), "fault", said)
	if w := u.writer.Load(); w != nil {
		w.Event(apply.Event{Object: obj, Warning: true, Reason: apply.ValidationFailed, Message: said, Dedupe: []string{said}, Window: time.Hour})
	}
}
