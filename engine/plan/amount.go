package plan

import (
	"fmt"
	"strings"
)

// PerHour is a price for an hour.
func PerHour(x float64) string { return Dollars(x) + "/h" }

// Dollars is an amount of money as prices are written: $12.34, $0.154, $0.0042; cents at
// least, and three digits that count below a dollar.
func Dollars(x float64) string {
	sign := ""
	if x < 0 {
		sign, x = "-", -x
	}
	digits := 2
	switch {
	case x < 0.1:
		digits = 4
	case x < 10:
		digits = 3
	}
	text := fmt.Sprintf("%.*f", digits, x)
	for len(text)-strings.IndexByte(text, '.') > 3 && strings.HasSuffix(text, "0") {
		text = text[:len(text)-1]
	}
	return sign + "$" + text
}

// Count is a number of things: "1 node", "3 nodes".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
