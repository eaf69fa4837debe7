package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// behaviour makes this test binary play the sandbox's binary.
const behaviour = "SANDBOX_CHILD_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(behaviour) {
	case "good":
		fmt.Println("noise\nready /some/kubeconfig\nexport KUBECONFIG=/some/kubeconfig")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "dies":
		fmt.Fprintln(os.Stderr, "no room")
		os.Exit(1)
	case "hangs":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	default:
		os.Exit(m.Run())
	}
}

func TestChildIsReadyAndStopsCleanly(t *testing.T) {
	t.Setenv(behaviour, "good")
	c, err := Start(t.Context(), Config{Binary: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	if c.Kubeconfig() != "/some/kubeconfig" {
		t.Errorf("kubeconfig is %q", c.Kubeconfig())
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
}

func TestKilledChildIsNoError(t *testing.T) {
	t.Setenv(behaviour, "good")
	c, err := Start(t.Context(), Config{Binary: os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Errorf("killing: %v", err)
	}
}

func TestChildThatDiesFailsTheStart(t *testing.T) {
	t.Setenv(behaviour, "dies")
	var stderr strings.Builder
	if _, err := Start(t.Context(), Config{Binary: os.Args[0], Stderr: &stderr}); err == nil {
		t.Fatal("started")
	}
	if !strings.Contains(stderr.String(), "no room") {
		t.Errorf("stderr is %q", stderr.String())
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	t.Setenv(behaviour, "hangs")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Config{Binary: os.Args[0]}); err == nil {
		t.Fatal("started")
	}
}
