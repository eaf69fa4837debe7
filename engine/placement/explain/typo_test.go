package explain

import "testing"

func TestWhatMayHaveBeenMeant(t *testing.T) {
	for _, tt := range []struct {
		word       string
		candidates []string
		want       string
	}{
		{"arm46", []string{"amd64", "arm64"}, "arm64"},
		{"example.com/famly", []string{"example.com/family"}, "example.com/family"},
		{"us-east-1d", []string{"us-east-1a", "us-east-1b"}, ""},
		{"m5.large", []string{"m6.large"}, ""},
		{"amd64", []string{"arm64"}, ""},
		{"red", []string{"rod"}, ""},
		{"spto", []string{"on-demand", "spot"}, "spot"},
		{"on_demnd", []string{"on-demand"}, "on-demand"},
		{"node.kubernetes.io/arch", []string{"kubernetes.io/arch", "kubernetes.io/os"}, "kubernetes.io/arch"},
	} {
		if got := like(tt.word, tt.candidates); got != tt.want {
			t.Errorf("%s among %v is read as %q, want %q", tt.word, tt.candidates, got, tt.want)
		}
	}
}
