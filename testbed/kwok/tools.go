//go:build tools

// Package tools names the commands that the tests build from this module.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
