// Package main is etcd's server alone. A module of its own: its dependencies are newer than those that Kubernetes pins.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
