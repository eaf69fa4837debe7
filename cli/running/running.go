// Package running reads what a cluster's objects tell of the controller that runs there: what it
// has said lately, and who holds its leases.
package running

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/controllers"
	"github.com/millwright-dev/millwright/controllers/loop"
)

// current is how old an event may be that still holds: the controller repeats those
// about what has no machine after five minutes.
const current = 6 * time.Minute

// Read reads what is known of the controller, and what it said in events of a namespace for a reason.
// Kinds that may not be read are named.
func Read(ctx context.Context, reader client.Reader, now time.Time, namespace, reason string) (*explain.Controller, []string, error) {
	out := &explain.Controller{Name: cluster.LeaseName}
	kinds := []string{"Event", "Lease", "Lease"}
	errs := make([]error, len(kinds))
	loop.SideBySide(len(kinds), func(i int) {
		switch i {
		case 0:
			out.Said, errs[i] = said(ctx, reader, now, namespace, reason)
		case 1:
			errs[i] = leasesOf(ctx, reader, cluster.LeaseName, &out.Acting)
		case 2:
			errs[i] = leasesOf(ctx, reader, controllers.ObserverName, &out.Observing)
		}
	})
	var unread []string
	var failed error
	for i, err := range errs {
		switch {
		case apierrors.IsForbidden(err):
			out.Unknown = out.Unknown || i > 0
			unread = append(unread, kinds[i])
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("listing %s: %w", kinds[i], err))
		}
	}
	return out, unread, failed
}

// said is what the controller said last of the objects for which it has no machine, unless that is
// old: it knows what the cloud refused a moment ago, which no object says.
func said(ctx context.Context, reader client.Reader, now time.Time, namespace, reason string) (map[string]*corev1.Event, error) {
	out := map[string]*corev1.Event{}
	err := listing.Each(ctx, reader, &corev1.EventList{}, func(e *corev1.Event) error {
		last := out[e.InvolvedObject.Name]
		if now.Sub(e.LastTimestamp.Time) < current && (last == nil || !e.LastTimestamp.Before(&last.LastTimestamp)) {
			out[e.InvolvedObject.Name] = e
		}
		return nil
	}, client.InNamespace(namespace), client.MatchingFields{"source": controllers.EventSource, "reason": reason})
	return out, err
}
