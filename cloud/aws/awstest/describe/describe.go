// Package describe has what all Describe calls of EC2 share: filters, pages and tokens.
package describe

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/iamtest/policy"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// Filter is one of a request: a resource passes if any of its values is one of these,
// which may have the wildcards * and ?.
type Filter struct {
	Name   string
	Values []string
}

// Fields are the filters of a resource by name; tag:KEY and tag-key are known for all.
type Fields[T any] map[string]func(T) []string

// Query is what all Describe calls have.
type Query struct {
	Filters    []Filter
	MaxResults *int
	NextToken  string
}

// Pass reports whether a resource passes all filters.
func Pass[T any](filters []Filter, known Fields[T], tags map[string]string, v T) (bool, error) {
	for _, f := range filters {
		var has []string
		if key, ok := strings.CutPrefix(f.Name, "tag:"); ok {
			if value, ok := tags[key]; ok {
				has = []string{value}
			}
		} else if f.Name == "tag-key" {
			for key := range tags {
				has = append(has, key)
			}
		} else if field := known[f.Name]; field != nil {
			has = field(v)
		} else {
			return false, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", f.Name)
		}
		if !slices.ContainsFunc(has, func(text string) bool {
			return slices.ContainsFunc(f.Values, func(pattern string) bool { return policy.Like(pattern, text) })
		}) {
			return false, nil
		}
	}
	return true, nil
}

// Page cuts a list that is in the order of its keys: what comes after the token, at most
// max of it, and the token of the rest.
func Page[T any](list []T, key func(T) string, max *int, least, most int, token string) ([]T, string, error) {
	if max != nil && (*max < least || *max > most) {
		return nil, "", wire.Errorf("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", *max, least, most)
	}
	if token != "" {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, "", wire.Errorf("InvalidNextToken", "The token '%s' is invalid", token)
		}
		first := slices.IndexFunc(list, func(v T) bool { return key(v) > string(after) })
		if first < 0 {
			return nil, "", nil
		}
		list = list[first:]
	}
	if max == nil || len(list) <= *max {
		return list, "", nil
	}
	list = list[:*max]
	return list, base64.RawURLEncoding.EncodeToString([]byte(key(list[len(list)-1]))), nil
}

// One is a filter's field that has a single value.
func One[T any](value func(T) string) func(T) []string {
	return func(v T) []string {
		if text := value(v); text != "" {
			return []string{text}
		}
		return nil
	}
}

// YesNo is a boolean as filters write it.
func YesNo(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
