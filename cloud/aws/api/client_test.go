package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/selector"
)

// Errors go into conditions, which change only if the error does.
func TestAnErrorReadsTheSameAfterEachAttempt(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>You may not. Encoded authorization failure message: 4GIOHlTkI%d</Message></Error></Errors><RequestID>id-%d</RequestID></Response>", asked, asked)
	}))
	defer server.Close()
	c := New(aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	said := map[string]bool{}
	for range 2 {
		_, err := c.Reservations(t.Context(), selector.Query{Filters: []selector.Filter{{Name: "state", Values: []string{"active"}}}}, time.Now())
		var denied *cloud.UnauthorizedError
		var fault smithy.APIError
		if !errors.As(err, &denied) || !errors.As(err, &fault) || !strings.Contains(err.Error(), "You may not") {
			t.Fatalf("the error is %v", err)
		}
		said[err.Error()] = true
	}
	if asked != 2 || len(said) != 1 {
		t.Errorf("asked %d times, the errors are %v", asked, said)
	}
}
