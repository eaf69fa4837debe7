package findings

import (
	"strconv"
	"strings"

	"github.com/millwright-dev/millwright/doctor"
)

// The parts of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations,omitempty"`
		Results     []sarifResult     `json:"results"`
	}
	sarifInvocation struct {
		Successful bool        `json:"executionSuccessful"`
		Notes      []sarifNote `json:"toolExecutionNotifications"`
	}
	sarifNote struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"`
		Help  sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			Line int `json:"startLine"`
		} `json:"region"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

func (r Report) sarif() sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "millwright doctor"}
	for _, check := range doctor.Checks() {
		title, text, _ := doctor.Explain(check)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{check, sarifText{title}, sarifText{title}, sarifText{text}})
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, sarifResult{
			Rule: f.Check, Level: string(f.Severity), Message: sarifText{f.Object.String() + ": " + f.Field + ": " + f.Message + ". " + f.Advice + "."},
			Locations:    []sarifLocation{r.location(f)},
			Fingerprints: map[string]string{"finding/v1": f.Check + " " + f.Object.String() + " " + f.Field},
		})
	}
	if len(r.Skipped) > 0 {
		var notes []sarifNote
		for _, what := range r.Skipped {
			notes = append(notes, sarifNote{"warning", sarifText{"not examined: " + what}})
		}
		run.Invocations = []sarifInvocation{{Successful: true, Notes: notes}}
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// location is the line in a file, if there is one, and the object.
func (r Report) location(f doctor.Finding) sarifLocation {
	out := sarifLocation{Logical: []sarifLogical{{f.Object.String()}}}
	if r.Where == nil {
		return out
	}
	at := r.Where(f)
	i := strings.LastIndex(at, ":")
	if i < 0 {
		return out
	}
	line, err := strconv.Atoi(at[i+1:])
	if err != nil {
		return out
	}
	out.Physical = &sarifPhysical{}
	out.Physical.Artifact.URI, out.Physical.Region.Line = at[:i], line
	return out
}
