package process

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Stage is what controllers that take turns need.
type Stage struct {
	// Root is the checkout; Sandbox, Millwright and Karpenter are the paths of the binaries.
	Root, Sandbox, Millwright, Karpenter string
	// Turns are the names of the contestants, in order; one may come several times.
	Turns []string
	// Quiet is how long no Node may come or go, and every pod must run, for a part of the play
	// to be over; Limit is how long it may take.
	Quiet, Limit time.Duration
	// Dir keeps the logs of the controllers.
	Dir string
	// Progress gets a line for every step.
	Progress io.Writer
}

// Parse reads arguments into a set of flags, to which it adds those of a Stage, and makes Dir,
// whose name begins with the command's. Karpenter is the name of its binary.
func (s *Stage) Parse(fs *flag.FlagSet, args []string, karpenter string, quiet time.Duration) error {
	fs.StringVar(&s.Root, "root", "..", "the checkout")
	fs.StringVar(&s.Sandbox, "sandbox", "../bin/sandbox", "the sandbox's binary")
	fs.StringVar(&s.Millwright, "millwright", "../bin/millwright", "Millwright's binary")
	fs.StringVar(&s.Karpenter, "karpenter", "../bin/"+karpenter, "the binary of Karpenter's controller")
	turns := fs.String("turns", "karpenter,millwright", "comma-separated contestants, in order")
	fs.DurationVar(&s.Quiet, "quiet", quiet, "how long no Node may come or go for a part of the play to be over")
	fs.DurationVar(&s.Limit, "limit", 8*time.Minute, "how long a part of the play may take")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	s.Turns = strings.Split(*turns, ",")
	var err error
	if s.Dir, err = os.MkdirTemp("", strings.ReplaceAll(fs.Name(), " ", "-")+"-"); err != nil {
		return err
	}
	fmt.Fprintln(s.Progress, "the controllers' logs are in", s.Dir)
	return nil
}
