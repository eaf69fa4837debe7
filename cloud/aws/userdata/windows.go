package userdata

import "strings"

// windows has PowerShell run the user's script, then the image's bootstrap.
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
	var b strings.Builder
	b.WriteString("<powershell>\n")
	if user := strings.TrimSpace(in.User); user != "" {
		user = strings.TrimSuffix(strings.TrimPrefix(user, "<powershell>"), "</powershell>")
		b.WriteString(strings.TrimSpace(user) + "\n")
	}
	b.WriteString(`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"` + "\n")
	b.WriteString("& $EKSBootstrapScriptFile " + strings.Join(args, " ") + "\n</powershell>\n")
	return b.String(), nil
}

// powershell is a text as one argument.
func powershell(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
