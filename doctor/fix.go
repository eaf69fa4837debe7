package doctor

// Fix mends a finding where its object is made: it is ready to paste in the form that people
// keep that in.
type Fix struct {
	// Form is what it changes, such as "Helm values" or "EKS add-on configuration".
	Form string `json:"form"`
	// Do says what to do with the text, in a line: a command, or the place where it belongs.
	Do string `json:"do"`
	// Text is what to paste; it may have several lines.
	Text string `json:"text"`
	// File is what the text is called as a file, such as aws-ebs-csi-driver.values.yaml.
	File string `json:"file"`
}
