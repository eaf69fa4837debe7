package classes

import (
	"fmt"
	"os"

	"github.com/millwright-dev/millwright/cloud/kwok"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// Built-in catalogues.
const (
	EC2  = "ec2"
	KWOK = "kwok"
)

// Load reads a built-in catalogue by its name, or a file.
func Load(name string) ([]*catalog.Type, error) {
	switch name {
	case EC2:
		return kwok.EC2Catalogue()
	case KWOK:
		return kwok.KWOKCatalogue(), nil
	case "":
		return nil, fmt.Errorf("must be %s, %s or a file", EC2, KWOK)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	types, err := kwok.ReadCatalogue(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return types, nil
}
