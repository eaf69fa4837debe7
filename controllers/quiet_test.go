package controllers

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestErrorsOfTheEndAreLeftToDebugging(t *testing.T) {
	for verbosity, want := range []int{1, 2} {
		lines := 0
		ctx, end := context.WithCancel(context.Background())
		log := quietAtTheEnd(ctx, funcr.New(func(string, string) { lines++ }, funcr.Options{Verbosity: verbosity})).WithName("a").WithValues("b", "c")
		log.Error(errors.New("something broke"), "while it runs")
		end()
		log.Error(errors.New("leader election lost"), "at the end")
		if lines != want {
			t.Errorf("at verbosity %d: %d lines, want %d", verbosity, lines, want)
		}
	}
}
