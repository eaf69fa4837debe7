package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/millwright-dev/millwright/cli/adopt"
	"github.com/millwright-dev/millwright/cli/answer"
	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/cli/crds"
	"github.com/millwright-dev/millwright/cli/dump"
	"github.com/millwright-dev/millwright/cli/export"
)

// Exit statuses.
const (
	ExitOK       = 0
	ExitFindings = 1
	ExitError    = 2
)

// errFindings ends a command that did its work and has something to object to.
// What that is has been printed.
var errFindings = errors.New("findings")

// exitCodes are the exit statuses as a command's help has them; findings says what the 1 means, and is empty for a
// command that objects to nothing.
func exitCodes(findings string) string {
	if findings != "" {
		findings = "\n  1  " + findings
	}
	return "Exit status:\n  0  success" + findings + "\n  2  wrong usage, bad input, or an error"
}

// Main runs the command line and returns the process's exit status. What went
// wrong is said on the error stream.
func Main(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	cmd := New(streams)
	cmd.SetArgs(args)
	executed, err := cmd.ExecuteContextC(ctx)
	code := ExitCode(err)
	if code == ExitError {
		mode := color.Auto
		if f := executed.Flag(color.Flag); f != nil {
			mode = color.Mode(f.Value.String())
		}
		fmt.Fprintf(streams.ErrOut, "%s %s\n", color.For(streams.ErrOut, mode).Red("error:"), printers.EscapeTerminal(message(err)))
	}
	return code
}

// message is what is said of an error: what was being done, what went wrong, and the command that
// helps. What libraries say of how they came to make a request is left out.
func message(err error) string {
	const help = "\n'millwright crds upgrade' installs the kinds of Karpenter and Millwright"
	var discovery *apiutil.ErrResourceDiscoveryFailed
	var version *meta.NoResourceMatchError
	var request *url.Error
	switch {
	case errors.As(err, &discovery) && errors.As(err, &version):
		return because(err, discovery, "the cluster does not serve "+version.PartialResource.GroupVersion().String()) + help
	case meta.IsNoMatchError(err):
		return err.Error() + help
	case errors.As(err, &request):
		return because(err, request, request.Error())
	}
	return err.Error()
}

// because words the cause of an error, after what the error says before it and before what begins
// with "failed to", which no error of this program does.
func because(err, cause error, text string) string {
	before, last := strings.CutSuffix(err.Error(), cause.Error())
	if !last {
		return err.Error()
	}
	before, _, _ = strings.Cut(before, "failed to ")
	return before + text
}

// ExitCode is the exit status for what a command of New returned.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, errFindings):
		return ExitFindings
	}
	return ExitError
}

// New makes the root command. Its commands print neither errors nor usage when
// they fail: that is up to the caller, as in [Main].
func New(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "millwright",
		Short: "Launches the right machines for pods that cannot run, and removes them again",
		Long: `Millwright manages the machines of a Kubernetes cluster. It understands
Karpenter's NodePools and NodeClaims.

` + exitCodes("the command has something to object to"),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	streams.Out = color.Escaped{Writer: streams.Out}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w\nSee '%s --help' for usage", err, cmd.CommandPath())
	})
	when := color.Auto
	cmd.PersistentFlags().Var(&when, color.Flag, "when to colour messages: auto, always or never")
	complete(cmd, color.Flag, color.Modes()...)
	c := console{streams, &when}
	answers := answer.Config{Out: c.Out, Connect: connectClient, Needs: needs, Help: exitCodes("")}
	cmd.AddCommand(newRun(c), newPlan(c), newVerify(c), newWhy(c), newAttachments(c), newPolicy(c), newDoctor(c), newEvents(c), answer.Approve(answers), answer.Deny(answers), newVersion(c), crds.New(c.Out), export.New(c.Out),
		dump.New(dump.Config{Out: c.Out, Warn: c.warn, Connect: connect}),
		adopt.New(adopt.Config{Streams: c.IOStreams, Settings: c.judge, Types: instanceTypes, Read: c.survey, Findings: errFindings}))
	cmd.InitDefaultCompletionCmd()
	grouped(cmd)
	interruptible(cmd)
	return cmd
}

// grouped has commands that only hold others print their help, and refuse what is none of those.
func grouped(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		grouped(below)
	}
	if !cmd.Runnable() {
		cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// interruptible has commands end when they are interrupted, also where what they wait for takes no
// context, such as client-go's discovery; run ends by itself.
func interruptible(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		interruptible(below)
	}
	do := cmd.RunE
	if do == nil || cmd.Name() == "run" {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done := make(chan error, 1)
		go func() { done <- do(cmd, args) }()
		select {
		case err := <-done:
			if err == nil || cmd.Context().Err() == nil {
				return err
			}
		case <-cmd.Context().Done():
		}
		return errors.New("interrupted")
	}
}

// needs refuses a command without arguments.
func needs(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("say %s, as in '%s %s'\nSee '%s --help' for usage", what, cmd.Root().CommandPath(), example, cmd.CommandPath())
	}
}

// complete offers fixed values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was defined a line above
	}
}
