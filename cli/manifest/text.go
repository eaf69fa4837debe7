package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// plain is the text of a file in UTF-8 without a byte order mark, with lines that end in \n or
// \r\n. Windows PowerShell redirects output in UTF-16; YAML also knows \r alone.
func plain(data []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return nil, errors.New("the file is compressed; unpack it with gzip -d and pipe it to -f -")
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	}
	if order != nil {
		units := make([]uint16, len(data)/2-1)
		for i := range units {
			units[i] = order.Uint16(data[2*i+2:])
		}
		data = []byte(string(utf16.Decode(units)))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !bytes.Contains(data, []byte("\n")) {
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	return data, nil
}
