package main

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	intel = "intel"
	amd   = "amd"
	aws   = "aws"
)

// families describes every family of the catalogue, by name.
var families = func() map[string]family {
	all := map[string]family{}
	for _, group := range [][]entry{computeOptimized, generalPurpose, memoryOptimized, storageOptimized, accelerated} {
		for _, e := range group {
			for _, name := range strings.Fields(e.names) {
				all[name] = e.family
			}
		}
	}
	return all
}()

// entry describes families that differ in nothing that the catalogue shows.
type entry struct {
	names string
	family
}

// Instance-store patterns that several families share.
var (
	disks5   = disks("large:1x75 xlarge:1x150 2xlarge:1x300 4xlarge:2x300 8xlarge:2x600 12xlarge:2x900 16xlarge:4x600 24xlarge:4x900")
	disks6g  = disks("medium:1x59 large:1x118 xlarge:1x237 2xlarge:1x474 4xlarge:1x950 8xlarge:1x1900 12xlarge:2x1425 16xlarge:2x1900")
	disks6i  = disks("large:1x118 xlarge:1x237 2xlarge:1x474 4xlarge:1x950 8xlarge:1x1900 12xlarge:2x1425 16xlarge:2x1900 24xlarge:4x1425 32xlarge:4x1900")
	disks8g  = disks("medium:1x59 large:1x118 xlarge:1x237 2xlarge:1x474 4xlarge:1x950 8xlarge:1x1900 12xlarge:1x2850 16xlarge:1x3800 24xlarge:2x2850 48xlarge:3x3800")
	disks8i  = disks("large:1x118 xlarge:1x237 2xlarge:1x474 4xlarge:1x950 8xlarge:1x1900 12xlarge:1x2850 16xlarge:1x3800 24xlarge:2x2850 32xlarge:2x3800 48xlarge:3x3800 96xlarge:6x3800")
	disksI7  = disks("large:1x468 xlarge:1x937 2xlarge:1x1875 4xlarge:1x3750 8xlarge:2x3750 12xlarge:3x3750 16xlarge:4x3750 24xlarge:6x3750 48xlarge:12x3750")
	disksI7e = disks("large:1x1250 xlarge:1x2500 2xlarge:2x2500 3xlarge:1x7500 6xlarge:2x7500 12xlarge:4x7500 18xlarge:6x7500 24xlarge:8x7500 48xlarge:16x7500")
)

var computeOptimized = []entry{
	{"c5", family{gib: 2, maker: intel}},
	{"c5a", family{gib: 2, maker: amd, encrypts: true}},
	{"c5ad", family{gib: 2, maker: amd, encrypts: true,
		disks: disks("large:1x75 xlarge:1x150 2xlarge:1x300 4xlarge:2x300 8xlarge:2x600 12xlarge:2x900 16xlarge:2x1200 24xlarge:2x1900")}},
	{"c5d", family{gib: 2, maker: intel,
		disks: disks("large:1x50 xlarge:1x100 2xlarge:1x200 4xlarge:1x400 9xlarge:1x900 12xlarge:2x900 18xlarge:2x900 24xlarge:4x900")}},
	{"c5n", family{gib: 2.625, memoryMiB: counts("9xlarge:98304 18xlarge:196608"), maker: intel, encrypts: true}},
	{"c6a", family{gib: 2, maker: amd, encrypts: true}},
	{"c7a", family{gib: 2, maker: amd, encrypts: true, dedicatedEBS: true}},
	{"c8a", family{gib: 2, maker: amd, encrypts: true, dedicatedEBS: true}},
	{"c6g", family{gib: 2, maker: aws}},
	{"c6gd", family{gib: 2, maker: aws, disks: disks6g}},
	{"c6gn", family{gib: 2, maker: aws, encrypts: true}},
	{"c7g", family{gib: 2, maker: aws, encrypts: true}},
	{"c7gn", family{gib: 2, maker: aws, encrypts: true}},
	{"c7gd", family{gib: 2, maker: aws, encrypts: true, disks: disks6g}},
	{"c8g c8gb c8gn c9g", family{gib: 2, maker: aws, encrypts: true, dedicatedEBS: true}},
	{"c8gd c9gd", family{gib: 2, maker: aws, encrypts: true, dedicatedEBS: true, disks: disks8g}},
	{"c6i", family{gib: 2, maker: intel, encrypts: true}},
	{"c6id", family{gib: 2, maker: intel, encrypts: true, disks: disks6i}},
	{"c6in", family{gib: 2, maker: intel, encrypts: true}},
	{"c7i", family{gib: 2, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"c7i-flex c8i-flex c8i c8ib c8in", family{gib: 2, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"c8id", family{gib: 2, maker: intel, encrypts: true, dedicatedEBS: true, disks: disks8i}},
	{"c8ine", family{gib: 2, maker: intel, encrypts: true, dedicatedEBS: true, noSpot: true}},
}

var generalPurpose = []entry{
	{"m5", family{gib: 4, maker: intel}},
	{"m5a", family{gib: 4, maker: amd}},
	{"m5ad", family{gib: 4, maker: amd, disks: disks5}},
	{"m5d", family{gib: 4, maker: intel, disks: disks5}},
	{"m5dn", family{gib: 4, maker: intel, encrypts: true, disks: disks5}},
	{"m5n", family{gib: 4, maker: intel, encrypts: true}},
	{"m5zn", family{gib: 4, maker: intel, encrypts: true}},
	{"m6a", family{gib: 4, maker: amd, encrypts: true}},
	{"m7a", family{gib: 4, maker: amd, encrypts: true, dedicatedEBS: true}},
	{"m8a", family{gib: 4, maker: amd, encrypts: true, dedicatedEBS: true}},
	{"m8azn", family{gib: 4, maker: amd, encrypts: true, dedicatedEBS: true, ebsLimit: counts("12xlarge:64 24xlarge:128")}},
	{"m6g", family{gib: 4, maker: aws}},
	{"m6gd", family{gib: 4, maker: aws, disks: disks6g}},
	{"m7g", family{gib: 4, maker: aws, encrypts: true}},
	{"m7gd", family{gib: 4, maker: aws, encrypts: true, disks: disks6g}},
	{"m8g m8gb m8gn m9g", family{gib: 4, maker: aws, encrypts: true, dedicatedEBS: true}},
	{"m8gd m9gd", family{gib: 4, maker: aws, encrypts: true, dedicatedEBS: true, disks: disks8g}},
	{"m6i", family{gib: 4, maker: intel, encrypts: true}},
	{"m6id", family{gib: 4, maker: intel, encrypts: true, disks: disks6i}},
	{"m6idn", family{gib: 4, maker: intel, encrypts: true, disks: disks6i}},
	{"m6in", family{gib: 4, maker: intel, encrypts: true}},
	{"m7i", family{gib: 4, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"m7i-flex m8i-flex m8i m8ib m8in", family{gib: 4, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"m8id m8idb m8idn", family{gib: 4, maker: intel, encrypts: true, dedicatedEBS: true, disks: disks8i}},
	{"m8ine", family{gib: 4, maker: intel, encrypts: true, dedicatedEBS: true, noSpot: true}},
	{"t2", family{gib: 4, maker: intel,
		vcpus:     counts("nano:1 micro:1 small:1 medium:2"),
		memoryMiB: counts("nano:512 micro:1024 small:2048 medium:4096")}},
	{"t3", burstable(intel)},
	{"t3a", burstable(amd)},
	{"t4g", burstable(aws)},
}

func burstable(maker string) family {
	return family{gib: 4, maker: maker,
		vcpus:     counts("nano:2 micro:2 small:2 medium:2"),
		memoryMiB: counts("nano:512 micro:1024 small:2048 medium:4096")}
}

var memoryOptimized = []entry{
	{"r5 r5b", family{gib: 8, maker: intel}},
	{"r5a", family{gib: 8, maker: amd}},
	{"r5ad", family{gib: 8, maker: amd, disks: disks5}},
	{"r5d", family{gib: 8, maker: intel, disks: disks5}},
	{"r5dn", family{gib: 8, maker: intel, encrypts: true, disks: disks5}},
	{"r5n", family{gib: 8, maker: intel, encrypts: true}},
	{"r6a", family{gib: 8, maker: amd, encrypts: true}},
	{"r7a", family{gib: 8, maker: amd, encrypts: true, dedicatedEBS: true}},
	{"r8a", family{gib: 8, maker: amd, encrypts: true, dedicatedEBS: true}},
	{"r6g", family{gib: 8, maker: aws}},
	{"r6gd", family{gib: 8, maker: aws, disks: disks6g}},
	{"r7g", family{gib: 8, maker: aws, encrypts: true}},
	{"r7gd", family{gib: 8, maker: aws, encrypts: true, disks: disks6g}},
	{"r8g r8gb r8gn", family{gib: 8, maker: aws, encrypts: true, dedicatedEBS: true}},
	{"r8gd", family{gib: 8, maker: aws, encrypts: true, dedicatedEBS: true, disks: disks8g}},
	{"r6i", family{gib: 8, maker: intel, encrypts: true}},
	{"r6id", family{gib: 8, maker: intel, encrypts: true, disks: disks6i}},
	{"r6idn", family{gib: 8, maker: intel, encrypts: true, disks: disks6i}},
	{"r6in", family{gib: 8, maker: intel, encrypts: true}},
	{"r7i", family{gib: 8, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"r7iz", family{gib: 8, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"r8i-flex r8i r8ib r8in", family{gib: 8, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"r8id r8idb r8idn", family{gib: 8, maker: intel, encrypts: true, dedicatedEBS: true, disks: disks8i}},
	{"x2gd", family{gib: 16, maker: aws,
		disks: disks("medium:1x59 large:1x118 xlarge:1x237 2xlarge:1x475 4xlarge:1x950 8xlarge:1x1900 12xlarge:2x1425 16xlarge:2x1900")}},
	{"x2idn", family{gib: 16, maker: intel, encrypts: true,
		disks: disks("16xlarge:1x1900 24xlarge:2x1425 32xlarge:2x1900")}},
	{"x2iedn", family{gib: 32, maker: intel, encrypts: true,
		disks: disks("xlarge:1x118 2xlarge:1x237 4xlarge:1x475 8xlarge:1x950 16xlarge:1x1900 24xlarge:2x1425 32xlarge:2x1900")}},
	{"x2iezn", family{gib: 32, maker: intel, encrypts: true}},
	{"x8g", family{gib: 16, maker: aws, encrypts: true, dedicatedEBS: true}},
	{"x8i", family{gib: 16, maker: intel, encrypts: true, dedicatedEBS: true}},
	{"z1d", family{gib: 8, maker: intel,
		disks: disks("large:1x75 xlarge:1x150 2xlarge:1x300 3xlarge:1x450 6xlarge:1x900 12xlarge:2x900")}},
}

var storageOptimized = []entry{
	{"d3", family{gib: 8, maker: intel, encrypts: true,
		disks: disks("xlarge:3x1980 2xlarge:6x1980 4xlarge:12x1980 8xlarge:24x1980")}},
	{"d3en", family{gib: 4, maker: intel, encrypts: true,
		disks: disks("xlarge:2x13980 2xlarge:4x13980 4xlarge:8x13980 6xlarge:12x13980 8xlarge:16x13980 12xlarge:24x13980")}},
	{"i3", family{gib: 7.625, maker: intel,
		disks: disks("large:1x475 xlarge:1x950 2xlarge:1x1900 4xlarge:2x1900 8xlarge:4x1900 16xlarge:8x1900")}},
	{"i3en", family{gib: 8, maker: intel, encrypts: true,
		disks: disks("large:1x1250 xlarge:1x2500 2xlarge:2x2500 3xlarge:1x7500 6xlarge:2x7500 12xlarge:4x7500 24xlarge:8x7500")}},
	{"i4g", family{gib: 8, maker: aws, encrypts: true,
		disks: disks("large:1x468 xlarge:1x937 2xlarge:1x1875 4xlarge:1x3750 8xlarge:2x3750 16xlarge:4x3750")}},
	{"i4i", family{gib: 8, maker: intel, encrypts: true,
		disks: disks("large:1x468 xlarge:1x937 2xlarge:1x1875 4xlarge:1x3750 8xlarge:2x3750 12xlarge:3x3750 16xlarge:4x3750 24xlarge:6x3750 32xlarge:8x3750")}},
	{"i7i", family{gib: 8, maker: intel, encrypts: true, dedicatedEBS: true, disks: disksI7}},
	{"i8g", family{gib: 8, maker: aws, encrypts: true, dedicatedEBS: true, disks: disksI7}},
	{"i7ie", family{gib: 8, maker: intel, encrypts: true, dedicatedEBS: true, disks: disksI7e}},
	{"i8ge", family{gib: 8, maker: aws, encrypts: true, dedicatedEBS: true, disks: disksI7e}},
	{"im4gn", family{gib: 4, maker: aws, encrypts: true,
		disks: disks("large:1x937 xlarge:1x1875 2xlarge:1x3750 4xlarge:1x7500 8xlarge:2x7500 16xlarge:4x7500")}},
	{"is4gen", family{gib: 6, maker: aws, encrypts: true,
		disks: disks("medium:1x937 large:1x1875 xlarge:1x3750 2xlarge:1x7500 4xlarge:2x7500 8xlarge:4x7500")}},
}

// disks reads "large:1x75": by size, the number of disks and GB of each.
func disks(s string) disksBySize {
	out := disksBySize{}
	each(s, func(size, v string) {
		n, gb, _ := strings.Cut(v, "x")
		out[size] = disk{number(n), number(gb)}
	})
	return out
}

// counts reads "large:1 xlarge:2".
func counts(s string) map[string]int {
	out := map[string]int{}
	each(s, func(size, v string) { out[size] = number(v) })
	return out
}

func each(s string, do func(size, value string)) {
	for _, field := range strings.Fields(s) {
		size, value, _ := strings.Cut(field, ":")
		do(size, value)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("a figure in the table of families: %v", err))
	}
	return n
}
