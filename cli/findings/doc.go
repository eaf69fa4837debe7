// Package findings writes what package doctor finds: for people as text and Markdown, for scripts
// as JSON and YAML, for code scanning as SARIF, and for pipelines as JUnit's XML.
package findings
