package plan

import "strings"

// Message is the reason as a sentence for people, without the name of what it is
// about: "pool default: no instance type has cpu 200 (of 812); the most is cpu
// 191". It is the only place where text is made of a reason.
func (r Reason) Message() string {
	for _, words := range []func(Reason) string{placementText, disruptionText, lifecycleText, drainText, attachmentText, interruptionText, repairText} {
		if text := words(r); text != "" {
			return text
		}
	}
	return r.plain()
}

// plain is what can be said of any reason.
func (r Reason) plain() string {
	parts := []string{string(r.Code)}
	for _, o := range r.Objects {
		parts = append(parts, o.String())
	}
	if r.Want != "" {
		parts = append(parts, "want "+r.Want)
	}
	if r.Have != "" {
		parts = append(parts, "have "+r.Have)
	}
	text := strings.Join(parts, ", ")
	return until(text, r.Until)
}
