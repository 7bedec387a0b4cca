//go:build tools

// Package apiserver pins the API server that the end-to-end tests run against.
package apiserver

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
