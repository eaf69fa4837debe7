package finding

import (
	"regexp"
	"strings"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,][A-Za-z0-9_./:=@%+,-]*$`)

// Word is some text as one word of a POSIX shell: names come from files and documents,
// which are not trusted.
func Word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
