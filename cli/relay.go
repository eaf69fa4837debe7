package cli

import (
	"log"
	"regexp"
	"strings"
)

// relay takes what libraries log of what they were given, as Helm does of a chart's values, and warns
// of it, once of each.
type relay struct {
	console
	said map[string]bool
}

// relayed has such lines relayed until the returned function is called.
func relayed(c console) (restore func()) {
	before, flags := log.Writer(), log.Flags()
	log.SetOutput(relay{c, map[string]bool{}})
	log.SetFlags(0)
	return func() {
		log.SetOutput(before)
		log.SetFlags(flags)
	}
}

var level = regexp.MustCompile(`^(?i)(debug|info|warn|warning|error):? `)

func (r relay) Write(line []byte) (int, error) {
	text := level.ReplaceAllString(strings.TrimSpace(string(line)), "")
	if !r.said[text] {
		r.said[text] = true
		r.warn("%s", text)
	}
	return len(line), nil
}
