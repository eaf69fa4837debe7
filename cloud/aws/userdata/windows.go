package userdata

import (
	"errors"
	"slices"
	"strings"
)

// windows has PowerShell run the user's script, then the image's bootstrap. User data may have tags of
// EC2Launch's, such as persist.
func windows(in Input) (string, error) {
	args := []string{
		"-EKSClusterName " + powershell(in.Cluster.Name), "-APIServerEndpoint " + powershell(in.Cluster.Endpoint),
		"-Base64ClusterCA " + powershell(in.Cluster.CA), "-KubeletExtraArgs " + powershell(strings.Join(in.flags(), " ")),
	}
	if dns := in.dns(); len(dns) > 0 {
		args = append(args, "-DNSClusterIP "+powershell(dns[0]))
	}
	// By itself the script guesses one of two ranges by the machine's own address. Where the guess is
	// wrong, pods do not reach Services, so not the cluster's DNS either.
	if in.Cluster.ServiceCIDR != "" {
		args = append(args, "-ServiceCIDR "+powershell(in.Cluster.ServiceCIDR))
	}
	user, outside := in.User, ""
	if before, tagged, ok := strings.Cut(user, "<powershell>"); ok {
		script, after, closed := strings.Cut(tagged, "</powershell>")
		if !closed {
			return "", errors.New("spec.userData: <powershell> is not closed")
		}
		user, outside = script, strings.TrimSpace(before+after)
	}
	lines := []string{
		"<powershell>", strings.TrimSpace(user), `[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`,
		"& $EKSBootstrapScriptFile " + strings.Join(args, " "), "</powershell>", outside,
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	return strings.Join(lines, "\n") + "\n", nil
}

// powershell is a text as one argument.
func powershell(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
