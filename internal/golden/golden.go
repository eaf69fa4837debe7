// Package golden holds what tests make against files that have been read and committed.
package golden

import (
	"flag"
	"os"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew, to be read as a diff")

// Compare finds fault unless a file holds a text. With -rewrite it writes the file.
func Compare(t testing.TB, file, text string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != text {
		t.Errorf("%s is otherwise now, %v; with -rewrite it would read:\n%s", file, err, text)
	}
}
