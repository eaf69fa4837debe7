// Package archive packs files for download, the same bytes for the same input: tar.gz for
// Unix, zip for Windows, and a file of SHA-256 sums.
package archive

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Write packs files, by their base names, into an archive whose kind its name tells:
// .tar.gz or .zip. Every file in it is dated at, and executable.
func Write(name string, at time.Time, files ...string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	if strings.HasSuffix(name, ".zip") {
		return writeZip(f, at, files)
	}
	return writeTar(f, at, files)
}

func writeTar(w io.Writer, at time.Time, files []string) error {
	zipped := gzip.NewWriter(w)
	packed := tar.NewWriter(zipped)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(file), Mode: 0o755, Size: int64(len(data)), ModTime: at, Format: tar.FormatPAX}
		if err := packed.WriteHeader(header); err != nil {
			return err
		}
		if _, err := packed.Write(data); err != nil {
			return err
		}
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

func writeZip(w io.Writer, at time.Time, files []string) error {
	packed := zip.NewWriter(w)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: filepath.Base(file), Method: zip.Deflate, Modified: at}
		header.SetMode(0o755)
		into, err := packed.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := into.Write(data); err != nil {
			return err
		}
	}
	return packed.Close()
}

// Sums writes the SHA-256 sums of files into a file that `sha256sum -c` reads, by name.
func Sums(name string, files ...string) error {
	var lines []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("summing: %w", err)
		}
		sum := sha256.Sum256(data)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+filepath.Base(file)+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(name, []byte(strings.Join(lines, "")), 0o644)
}
