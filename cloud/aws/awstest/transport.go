package awstest

import (
	"bytes"
	"io"
	"net/http"
)

// Transport sends a copy of each request's body over another transport. The SDK closes a body as
// soon as the head of the answer is there; against a server that is this near, that can be before
// net/http has seen the body's end, which then breaks the connection. Clients that retry need no
// such transport. It is as safe for concurrent use as the other one.
type Transport struct{ http.RoundTripper }

// RoundTrip is http.RoundTripper's.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return t.RoundTripper.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return t.RoundTripper.RoundTrip(again)
}
