package userdata

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	shellScript = `text/x-shellscript; charset="us-ascii"`
	nodeConfig  = "application/node.eks.aws"
	boundary    = "//"
)

// part is one part of a MIME document.
type part struct {
	contentType, body string
}

// partsOf takes the user's data apart: a MIME document into its parts, anything else is
// one part, a NodeConfig if that is what it is, else a script.
func partsOf(user string) ([]part, error) {
	if strings.TrimSpace(user) == "" {
		return nil, nil
	}
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(user, " \t\r\n")))
	if err != nil || !strings.HasPrefix(strings.ToLower(message.Header.Get("Content-Type")), "multipart/") {
		if isNodeConfig(user) {
			return []part{{nodeConfig, user}}, nil
		}
		return []part{{shellScript, user}}, nil
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("spec.userData: Content-Type: %w", err)
	}
	reader := multipart.NewReader(message.Body, params["boundary"])
	var out []part
	for {
		p, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("spec.userData: part %d of the MIME document: %w", len(out)+1, err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("spec.userData: part %d of the MIME document: %w", len(out)+1, err)
		}
		out = append(out, part{p.Header.Get("Content-Type"), string(body)})
	}
}

// isNodeConfig reports whether a text is a NodeConfig of nodeadm.
func isNodeConfig(text string) bool {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	return yaml.Unmarshal([]byte(text), &head) == nil && head.Kind == "NodeConfig" && strings.HasPrefix(head.APIVersion, "node.eks.aws/")
}

// document joins parts.
func document(parts []part) (string, error) {
	var b strings.Builder
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"" + boundary + "\"\r\n\r\n")
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(boundary); err != nil {
		return "", err
	}
	for _, p := range parts {
		body, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {p.contentType}})
		if err != nil {
			return "", err
		}
		if _, err := io.WriteString(body, p.body); err != nil {
			return "", err
		}
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return b.String(), nil
}
