package ec2test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/cloud/aws/awstest/describe"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/ec2test/tagging"
	"github.com/millwright-dev/millwright/cloud/aws/awstest/wire"
)

// template is a launch template.
type template struct {
	id, name string
	created  time.Time
	// versions are by number, from 1.
	versions []templateVersion
}

type templateVersion struct {
	description string
	created     time.Time
	data        map[string]any
}

type launchTemplate struct {
	LaunchTemplateId, LaunchTemplateName, CreatedBy string
	CreateTime                                      time.Time
	DefaultVersionNumber, LatestVersionNumber       int
	Tags                                            []Tag
}

func (e *EC2) describedTemplate(t *template) launchTemplate {
	return launchTemplate{t.id, t.name, e.caller(), t.created, 1, len(t.versions), e.tagsOf(t.id)}
}

// caller is who makes things.
func (e *EC2) caller() string { return fmt.Sprintf("arn:aws:iam::%s:root", e.config.Account) }

// maxUserData is how much user data an instance can have, in bytes before base64.
const maxUserData = 16384

func checkUserData(text string) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return wire.Errorf("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
	}
	if len(data) > maxUserData {
		return wire.Errorf("InvalidUserData.Malformed", "User data is limited to %d bytes", maxUserData)
	}
	return nil
}

var templateName = regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`)

type createLaunchTemplateInput struct {
	LaunchTemplateName, VersionDescription string
	LaunchTemplateData                     map[string]any
	TagSpecifications                      []tagging.Specification
	DryRun                                 bool
}

func createLaunchTemplate(e *EC2, in createLaunchTemplateInput) (any, error) {
	if !templateName.MatchString(in.LaunchTemplateName) {
		return nil, wire.Errorf("InvalidLaunchTemplateName.MalformedException", "Launch template name must be between 3 and 128 characters, and may contain letters, numbers, and the following characters: -/()._.")
	}
	if e.named(in.LaunchTemplateName) != nil {
		return nil, wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
	}
	if err := tagging.Only(in.TagSpecifications, "launch-template"); err != nil {
		return nil, err
	}
	if text, ok := in.LaunchTemplateData["UserData"].(string); ok {
		if err := checkUserData(text); err != nil {
			return nil, err
		}
	}
	if in.DryRun {
		return nil, nil
	}
	t := &template{id: e.id("lt"), name: in.LaunchTemplateName, created: e.now(),
		versions: []templateVersion{{in.VersionDescription, e.now(), in.LaunchTemplateData}}}
	e.templates[t.id] = t
	e.tag(t.id, tagging.For(in.TagSpecifications, "launch-template"))
	return map[string]any{"LaunchTemplate": e.describedTemplate(t)}, nil
}

func (e *EC2) named(name string) *template {
	for _, t := range e.templates {
		if t.name == name {
			return t
		}
	}
	return nil
}

// templateSpecification names a template and one of its versions.
type templateSpecification struct{ LaunchTemplateId, LaunchTemplateName, Version string }

func (e *EC2) find(s templateSpecification) (*template, error) {
	switch {
	case (s.LaunchTemplateId == "") == (s.LaunchTemplateName == ""):
		return nil, wire.Errorf("InvalidParameterCombination", "Exactly one of launch template ID and name must be specified")
	case s.LaunchTemplateId != "":
		if t := e.templates[s.LaunchTemplateId]; t != nil {
			return t, nil
		}
		return nil, wire.Errorf("InvalidLaunchTemplateId.NotFound", "The specified launch template, with template ID %s, does not exist.", s.LaunchTemplateId)
	}
	if t := e.named(s.LaunchTemplateName); t != nil {
		return t, nil
	}
	return nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s, does not exist.", s.LaunchTemplateName)
}

// version is the number that a text means; empty is the default.
func (t *template) version(text string) (int, error) {
	switch text {
	case "", "$Default":
		return 1, nil
	case "$Latest":
		return len(t.versions), nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(t.versions) {
		return 0, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template with ID %s.", text, t.id)
	}
	return n, nil
}

// TemplateNames lists the launch templates.
func (e *EC2) TemplateNames() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, t := range e.templates {
		out = append(out, t.name)
	}
	slices.Sort(out)
	return out
}

var templateFields = describe.Fields[launchTemplate]{
	"launch-template-name": describe.One(func(t launchTemplate) string { return t.LaunchTemplateName }),
	"create-time":          describe.One(func(t launchTemplate) string { return t.CreateTime.UTC().Format("2006-01-02T15:04:05.000Z") }),
}

type describeLaunchTemplatesInput struct {
	describe.Query
	LaunchTemplateIds, LaunchTemplateNames []string
}

func describeLaunchTemplates(e *EC2, in describeLaunchTemplatesInput) (any, error) {
	wanted := map[string]bool{}
	for _, id := range in.LaunchTemplateIds {
		t, err := e.find(templateSpecification{LaunchTemplateId: id})
		if err != nil {
			return nil, err
		}
		wanted[t.id] = true
	}
	for _, name := range in.LaunchTemplateNames {
		t, err := e.find(templateSpecification{LaunchTemplateName: name})
		if err != nil {
			return nil, err
		}
		wanted[t.id] = true
	}
	var out struct {
		LaunchTemplates []launchTemplate
		NextToken       string
	}
	for _, id := range slices.Sorted(maps.Keys(e.templates)) {
		t := e.describedTemplate(e.templates[id])
		ok, err := describe.Pass(in.Filters, templateFields, e.tags[id], t)
		if err != nil {
			return nil, err
		}
		if ok && (len(wanted) == 0 || wanted[id]) {
			out.LaunchTemplates = append(out.LaunchTemplates, t)
		}
	}
	var err error
	out.LaunchTemplates, out.NextToken, err = describe.Page(out.LaunchTemplates, func(t launchTemplate) string { return t.LaunchTemplateId }, in.MaxResults, 1, 200, in.NextToken)
	return out, err
}

type describeLaunchTemplateVersionsInput struct {
	templateSpecification
	Versions []string
}

type launchTemplateVersion struct {
	LaunchTemplateId, LaunchTemplateName, VersionDescription, CreatedBy string
	VersionNumber                                                       int
	DefaultVersion                                                      bool
	CreateTime                                                          time.Time
	LaunchTemplateData                                                  map[string]any
}

func describeLaunchTemplateVersions(e *EC2, in describeLaunchTemplateVersionsInput) (any, error) {
	t, err := e.find(in.templateSpecification)
	if err != nil {
		return nil, err
	}
	wanted := map[int]bool{}
	for _, text := range in.Versions {
		n, err := t.version(text)
		if err != nil {
			return nil, err
		}
		wanted[n] = true
	}
	var out struct{ LaunchTemplateVersions []launchTemplateVersion }
	for i, v := range t.versions {
		if len(wanted) == 0 || wanted[i+1] {
			out.LaunchTemplateVersions = append(out.LaunchTemplateVersions, launchTemplateVersion{
				t.id, t.name, v.description, e.caller(), i + 1, i == 0, v.created, v.data,
			})
		}
	}
	return out, nil
}

type deleteLaunchTemplateInput struct {
	templateSpecification
	DryRun bool
}

func deleteLaunchTemplate(e *EC2, in deleteLaunchTemplateInput) (any, error) {
	t, err := e.find(in.templateSpecification)
	if err != nil || in.DryRun {
		return nil, err
	}
	answer := map[string]any{"LaunchTemplate": e.describedTemplate(t)}
	delete(e.templates, t.id)
	delete(e.tags, t.id)
	return answer, nil
}

// Template finds a launch template by its ID or name, and the data of a version, which must not
// be modified; empty if there is none.
func (e *EC2) Template(idOrName, version string) (id string, data map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.templates[idOrName]
	if t == nil {
		t = e.named(idOrName)
	}
	if t == nil {
		return "", nil
	}
	n, err := t.version(version)
	if err != nil {
		return "", nil
	}
	return t.id, t.versions[n-1].data
}
