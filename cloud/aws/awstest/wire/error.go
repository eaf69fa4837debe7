package wire

import (
	"fmt"
	"net/http"
)

// Error is an error in AWS's words.
type Error struct {
	Code, Message string
	// Status of the answer; zero is 400.
	Status int
	// Query is the code for services that have another one in X-Amzn-Query-Error;
	// empty is Code.
	Query string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes an Error of status 400.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// codes are the words of a protocol for what is wrong with any request.
type codes struct{ unknown, missing, malformed, value, action string }

var codesOf = map[string]codes{
	"ec2":       {"UnknownParameter", "MissingParameter", "InvalidParameter", "InvalidParameterValue", "InvalidAction"},
	"query":     {"ValidationError", "ValidationError", "MalformedInput", "ValidationError", "InvalidAction"},
	"json":      {"ValidationException", "ValidationException", "SerializationException", "ValidationException", "UnknownOperationException"},
	"rest-json": {"InvalidParameterException", "InvalidParameterException", "SerializationException", "InvalidParameterException", "UnknownOperationException"},
}
