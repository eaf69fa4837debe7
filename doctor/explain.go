package doctor

import (
	"embed"
	"strings"
)

//go:embed explain/*.md
var explanations embed.FS

// Explain is what a check finds, in a sentence, and why that matters and how it is mended.
// False if there is no such check.
func Explain(check string) (title, text string, ok bool) {
	content, err := explanations.ReadFile("explain/" + check + ".md")
	if err != nil {
		return "", "", false
	}
	title, text, _ = strings.Cut(string(content), "\n")
	return title, strings.TrimSpace(text), true
}
