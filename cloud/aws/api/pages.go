package api

import (
	"context"
	"iter"
)

// pages is one of the SDK's paginators: of answers Out, with the options Opt of its service.
type pages[Out, Opt any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...func(*Opt)) (Out, error)
}

// each yields the pages of an action's answer. An error, in the port's words, is the last.
func each[Out, Opt any](ctx context.Context, action string, p pages[Out, Opt]) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		for p.HasMorePages() {
			page, err := p.NextPage(ctx)
			if !yield(page, translate(action, err)) || err != nil {
				return
			}
		}
	}
}
