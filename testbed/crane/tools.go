//go:build tools

// Package tools names the commands that the tests and the benchmarks build from this module.
package tools

import _ "github.com/google/go-containerregistry/cmd/crane"
