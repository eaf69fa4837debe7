package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/controllers/notify"
)

// notifications are where people are told what was done and what waits for them.
type notifications struct {
	url    string
	format word
}

func addNotifications(f *pflag.FlagSet, into *notifications) {
	f.StringVar(&into.url, "notification-webhook", "", "URL that is told of approvals that are waited for, of what became of them and of what policies' interruption rules do; if empty nobody is told. Whoever knows the URL may be able to write there: set the variable from a Secret")
	var formats []string
	for _, format := range notify.Formats() {
		formats = append(formats, string(format))
	}
	into.format = word{formats[0], formats}
	f.Var(&into.format, "notification-format", "what the webhook takes: CloudEvents in JSON, or Slack for a text as Slack's incoming webhooks take it")
}

// webhook is nil without a URL; cluster is by what name messages come.
func (n notifications) webhook(cluster string) (*notify.Webhook, error) {
	if n.url == "" {
		return nil, nil
	}
	source := "millwright"
	if cluster != "" {
		source = "millwright/" + cluster
	}
	out, err := notify.New(n.url, notify.Format(n.format.value), source)
	if err != nil {
		return nil, fmt.Errorf("--notification-webhook: %w", err)
	}
	return out, nil
}
