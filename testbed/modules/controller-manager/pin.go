//go:build tools

// Package controllermanager pins the controllers beside the API server of the end-to-end tests. It has a module of its
// own because it needs more modules than the server, whose build must not depend on them.
package controllermanager

import _ "k8s.io/kubernetes/cmd/kube-controller-manager"
