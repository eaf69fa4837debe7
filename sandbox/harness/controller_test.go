package harness

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A process of this binary that has livesVariable set stands in for millwright: it
// ends at once in each life that has last words, and is ready in the next.
const livesVariable = "LIVES"

func TestMain(m *testing.M) {
	if lives := os.Getenv(livesVariable); lives != "" {
		live(lives, os.Getenv("WORDS"))
	}
	os.Exit(m.Run())
}

func live(lives, words string) {
	if _, err := os.Stat(lives); err != nil {
		if err := os.WriteFile(lives, nil, 0o644); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, words)
		os.Exit(2)
	}
	port := os.Args[slices.Index(os.Args, "--health-probe-port")+1]
	panic(http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
}

func TestALostLeaseIsNotTheEnd(t *testing.T) {
	start := func(words string) (*Controller, error) {
		dir := t.TempDir()
		return StartController(t.Context(), ControllerConfig{
			Binary: os.Args[0], LogFile: filepath.Join(dir, "log"),
			Env: []string{livesVariable + "=" + filepath.Join(dir, "lives"), "WORDS=" + words},
		})
	}
	c, err := start("Error: leader election lost")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ended(); err != nil {
		t.Error(err)
	}
	c.Kill()
	if err := c.Ended(); err != nil {
		t.Errorf("killed, yet %v", err)
	}
	if c, err := start("panic: out of luck"); err == nil {
		c.Kill()
		t.Error("a process that panicked was started again")
	} else if !strings.Contains(err.Error(), "the controller ended: exit status 2") {
		t.Error(err)
	}
}
