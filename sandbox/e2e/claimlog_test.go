package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// claimLog remembers every state that NodeClaims went through. Safe for concurrent
// use.
type claimLog struct {
	mu     sync.Mutex
	claims map[string]*claimStory
	order  []string
}

// claimStory is what one claim said of itself, in order.
type claimStory struct {
	name, pool string
	// waits are the reasons of conditions that were not True, as Type/Reason, with
	// "!" in front where the condition was False.
	waits   []string
	givenUp string
	ready   bool
	gone    bool
	// readyAt and goneAt are when that was seen.
	readyAt, goneAt time.Time
}

// watchClaims follows all claims until the test ends, also where the API server ends
// a watch.
func (c *cluster) watchClaims() *claimLog {
	c.Helper()
	l := &claimLog{claims: map[string]*claimStory{}}
	informer := dynamicinformer.NewFilteredDynamicInformer(c.dynamic, nodeClaims, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	add := func(obj any, gone bool) {
		if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = last.Obj
		}
		if claim, ok := obj.(*unstructured.Unstructured); ok {
			l.add(claim, gone)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { add(obj, false) },
		UpdateFunc: func(_, obj any) { add(obj, false) },
		DeleteFunc: func(obj any) { add(obj, true) },
	})
	c.must(err)
	go informer.Run(c.Context().Done())
	c.eventually(patience, func() error {
		if !informer.HasSynced() {
			return fmt.Errorf("claims are not followed yet")
		}
		return nil
	})
	return l
}

func (l *claimLog) add(claim *unstructured.Unstructured, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.claims[claim.GetName()]
	if s == nil {
		s = &claimStory{name: claim.GetName(), pool: claim.GetLabels()["karpenter.sh/nodepool"]}
		l.claims[s.name] = s
		l.order = append(l.order, s.name)
	}
	if gone && !s.gone {
		s.gone, s.goneAt = true, time.Now()
	}
	if reason := claim.GetAnnotations()["millwright.dev/given-up"]; reason != "" {
		s.givenUp = reason
	}
	for _, c := range conditionsOf(claim) {
		if !slices.Contains([]string{"Launched", "Registered", "Initialized"}, c.kind) {
			continue
		}
		if c.status == "True" {
			if c.kind == "Initialized" && !s.ready {
				s.ready, s.readyAt = true, time.Now()
			}
			continue
		}
		text := c.kind + "/" + c.reason
		if c.status == "False" {
			text = "!" + text
		}
		if c.reason != "AwaitingReconciliation" && !slices.Contains(s.waits, text) {
			s.waits = append(s.waits, text)
		}
	}
}

// of are the stories of a pool's claims, in the order of their creation.
func (l *claimLog) of(pool string) []claimStory {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []claimStory
	for _, name := range l.order {
		if s := l.claims[name]; s.pool == pool {
			copied := *s
			copied.waits = slices.Clone(s.waits)
			out = append(out, copied)
		}
	}
	return out
}

// said reports whether a claim of the pool has ever waited for a reason, with "!"
// in front if the condition has to have been False.
func (l *claimLog) said(pool, reason string) bool {
	overdue := strings.HasPrefix(reason, "!")
	reason = strings.TrimPrefix(reason, "!")
	for _, s := range l.of(pool) {
		for _, w := range s.waits {
			if strings.HasSuffix(w, "/"+reason) && (!overdue || strings.HasPrefix(w, "!")) {
				return true
			}
		}
	}
	return false
}

// tell is a pool's story for the report of a failure.
func (l *claimLog) tell(pool string) string {
	var out []string
	for _, s := range l.of(pool) {
		out = append(out, fmt.Sprintf("%s: waited for %v, ready %v, given up %q, gone %v", s.name, s.waits, s.ready, s.givenUp, s.gone))
	}
	return strings.Join(out, "\n")
}

type claimCondition struct{ kind, status, reason, message string }

func conditionsOf(obj *unstructured.Unstructured) []claimCondition {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var out []claimCondition
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := c[key].(string); return s }
		out = append(out, claimCondition{text("type"), text("status"), text("reason"), text("message")})
	}
	return out
}
