//go:build tools

// Package kubernetes pins the API server of the end-to-end tests, and the scheduler that ours is measured against.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
