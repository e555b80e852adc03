//go:build tools

// This file pins the provisioner of filesystem volumes, which test/cluster/binaries.ts builds as it is.
package main

import _ "github.com/rancher/local-path-provisioner"
