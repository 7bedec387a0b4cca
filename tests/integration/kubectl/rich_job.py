"""A cron job whose pods use nearly every field there is."""

from typing import Any

CRON_JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "rich"},
    "spec": {
        "schedule": "* * * * *",
        "timeZone": "UTC",
        "startingDeadlineSeconds": 5,
        "concurrencyPolicy": "Forbid",
        "suspend": False,
        "jobTemplate": {
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {
                "parallelism": 0,
                "completions": 3,
                "activeDeadlineSeconds": 100,
                "backoffLimit": 0,
                "ttlSecondsAfterFinished": 0,
                "completionMode": "Indexed",
                "suspend": True,
                "backoffLimitPerIndex": 1,
                "maxFailedIndexes": 2,
                "podReplacementPolicy": "Failed",
                "managedBy": "x.io/y",
                "template": {
                    "metadata": {
                        "labels": {"a": "b"},
                        "finalizers": ["x.io/f"],
                        "ownerReferences": [
                            {
                                "apiVersion": "v1",
                                "kind": "Pod",
                                "name": "o",
                                "uid": "u",
                                "controller": False,
                                "blockOwnerDeletion": True,
                            }
                        ],
                    },
                    "spec": {
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 0,
                        "activeDeadlineSeconds": 7,
                        "dnsPolicy": "None",
                        "dnsConfig": {
                            "nameservers": ["1.1.1.1"],
                            "searches": ["example.org"],
                            "options": [{"name": "ndots", "value": "2"}],
                        },
                        "nodeSelector": {"z": "1"},
                        "serviceAccountName": "sa",
                        "nodeName": "n1",
                        "hostNetwork": True,
                        "hostPID": True,
                        "hostIPC": True,
                        "securityContext": {
                            "runAsUser": 0,
                            "runAsNonRoot": False,
                            "supplementalGroups": [1, 2],
                            "fsGroup": 5,
                            "runAsGroup": 6,
                            "fsGroupChangePolicy": "Always",
                            "seccompProfile": {"type": "Localhost", "localhostProfile": "p"},
                            "supplementalGroupsPolicy": "Merge",
                        },
                        "imagePullSecrets": [{"name": "s"}],
                        "hostname": "h",
                        "subdomain": "sub",
                        "schedulerName": "volcano",
                        "automountServiceAccountToken": False,
                        "priorityClassName": "hi",
                        "priority": -5,
                        "shareProcessNamespace": False,
                        "readinessGates": [{"conditionType": "x/y"}],
                        "runtimeClassName": "rc",
                        "enableServiceLinks": False,
                        "preemptionPolicy": "Never",
                        "overhead": {"cpu": "10m"},
                        "setHostnameAsFQDN": True,
                        "os": {"name": "linux"},
                        "hostUsers": True,
                        "resourceClaims": [
                            {"name": "c", "resourceClaimName": "d"},
                            {"name": "e", "resourceClaimTemplateName": "f"},
                        ],
                        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
                        "tolerations": [
                            {
                                "key": "k",
                                "operator": "Equal",
                                "value": "v",
                                "effect": "NoExecute",
                                "tolerationSeconds": 0,
                            }
                        ],
                        "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}],
                        "topologySpreadConstraints": [
                            {
                                "maxSkew": 1,
                                "topologyKey": "t",
                                "whenUnsatisfiable": "DoNotSchedule",
                                "labelSelector": {
                                    "matchLabels": {"a": "b"},
                                    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
                                },
                                "minDomains": 2,
                                "nodeAffinityPolicy": "Honor",
                                "nodeTaintsPolicy": "Ignore",
                                "matchLabelKeys": ["q"],
                            }
                        ],
                        "affinity": {
                            "nodeAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {
                                            "matchExpressions": [{"key": "a", "operator": "Exists"}],
                                            "matchFields": [
                                                {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                                            ],
                                        }
                                    ]
                                },
                                "preferredDuringSchedulingIgnoredDuringExecution": [
                                    {
                                        "weight": 3,
                                        "preference": {
                                            "matchExpressions": [{"key": "b", "operator": "Gt", "values": ["1"]}]
                                        },
                                    }
                                ],
                            },
                            "podAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": [
                                    {
                                        "labelSelector": {"matchLabels": {"a": "b"}},
                                        "namespaces": ["ns"],
                                        "topologyKey": "t",
                                        "namespaceSelector": {},
                                        "matchLabelKeys": ["m"],
                                        "mismatchLabelKeys": ["o"],
                                    }
                                ]
                            },
                            "podAntiAffinity": {
                                "preferredDuringSchedulingIgnoredDuringExecution": [
                                    {
                                        "weight": 4,
                                        "podAffinityTerm": {
                                            "labelSelector": {"matchLabels": {"a": "b"}},
                                            "topologyKey": "t",
                                        },
                                    }
                                ]
                            },
                        },
                        "volumes": [
                            {"name": "v1", "hostPath": {"path": "/x", "type": "Directory"}},
                            {"name": "v2", "emptyDir": {}},
                            {"name": "v3", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
                            {
                                "name": "v4",
                                "secret": {
                                    "secretName": "s",
                                    "items": [{"key": "k", "path": "p", "mode": 256}],
                                    "defaultMode": 420,
                                    "optional": True,
                                },
                            },
                            {"name": "v5", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
                            {
                                "name": "v6",
                                "configMap": {
                                    "name": "cm",
                                    "items": [{"key": "k", "path": "p"}],
                                    "defaultMode": 420,
                                    "optional": False,
                                },
                            },
                            {
                                "name": "v7",
                                "downwardAPI": {
                                    "defaultMode": 420,
                                    "items": [
                                        {
                                            "path": "l",
                                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"},
                                            "mode": 4,
                                        },
                                        {
                                            "path": "c",
                                            "resourceFieldRef": {
                                                "containerName": "a",
                                                "resource": "limits.cpu",
                                                "divisor": "1m",
                                            },
                                        },
                                    ],
                                },
                            },
                            {
                                "name": "v8",
                                "projected": {
                                    "defaultMode": 420,
                                    "sources": [
                                        {
                                            "secret": {
                                                "name": "s",
                                                "items": [{"key": "a", "path": "b"}],
                                                "optional": True,
                                            }
                                        },
                                        {"configMap": {"name": "c"}},
                                        {
                                            "serviceAccountToken": {
                                                "audience": "a",
                                                "expirationSeconds": 600,
                                                "path": "t",
                                            }
                                        },
                                        {
                                            "downwardAPI": {
                                                "items": [
                                                    {
                                                        "path": "l",
                                                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"},
                                                    }
                                                ]
                                            }
                                        },
                                    ],
                                },
                            },
                            {"name": "v9", "nfs": {"server": "s", "path": "/p", "readOnly": True}},
                            {
                                "name": "v10",
                                "ephemeral": {
                                    "volumeClaimTemplate": {
                                        "metadata": {"labels": {"a": "b"}},
                                        "spec": {
                                            "accessModes": ["ReadWriteOnce"],
                                            "storageClassName": "",
                                            "volumeMode": "Block",
                                            "resources": {"requests": {"storage": "1Gi"}},
                                            "selector": {"matchLabels": {"a": "b"}},
                                            "volumeName": "vv",
                                        },
                                    }
                                },
                            },
                        ],
                        "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
                        "containers": [
                            {
                                "name": "main",
                                "image": "busybox",
                                "command": ["a", "b"],
                                "args": ["c"],
                                "workingDir": "/w",
                                "ports": [
                                    {
                                        "name": "http",
                                        "hostPort": 80,
                                        "containerPort": 80,
                                        "protocol": "UDP",
                                        "hostIP": "1.1.1.1",
                                    }
                                ],
                                "env": [
                                    {"name": "A", "value": "1"},
                                    {
                                        "name": "B",
                                        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                                    },
                                    {
                                        "name": "C",
                                        "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": True}},
                                    },
                                    {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                                    {
                                        "name": "E",
                                        "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
                                    },
                                ],
                                "envFrom": [
                                    {"prefix": "P", "configMapRef": {"name": "c", "optional": True}},
                                    {"secretRef": {"name": "s"}},
                                ],
                                "resources": {
                                    "limits": {"cpu": "2"},
                                    "requests": {"cpu": "100m", "memory": "1Gi"},
                                    "claims": [{"name": "c", "request": "r"}],
                                },
                                "volumeMounts": [
                                    {
                                        "name": "v1",
                                        "readOnly": True,
                                        "mountPath": "/x",
                                        "subPath": "yy",
                                        "mountPropagation": "None",
                                        "recursiveReadOnly": "Disabled",
                                    },
                                    {"name": "v2", "mountPath": "/z", "subPathExpr": "$(A)"},
                                ],
                                "volumeDevices": [{"name": "v10", "devicePath": "/dev/x"}],
                                "livenessProbe": {
                                    "exec": {"command": ["x"]},
                                    "initialDelaySeconds": 1,
                                    "timeoutSeconds": 2,
                                    "periodSeconds": 3,
                                    "successThreshold": 1,
                                    "failureThreshold": 5,
                                    "terminationGracePeriodSeconds": 6,
                                },
                                "readinessProbe": {
                                    "httpGet": {
                                        "path": "/",
                                        "port": 80,
                                        "host": "h",
                                        "scheme": "HTTP",
                                        "httpHeaders": [{"name": "a", "value": "b"}],
                                    }
                                },
                                "startupProbe": {"tcpSocket": {"port": "http", "host": "h"}},
                                "lifecycle": {
                                    "postStart": {"sleep": {"seconds": 0}},
                                    "preStop": {"exec": {"command": ["yy"]}},
                                },
                                "terminationMessagePath": "/m",
                                "terminationMessagePolicy": "File",
                                "imagePullPolicy": "Always",
                                "securityContext": {
                                    "capabilities": {"add": ["A"], "drop": ["ALL"]},
                                    "privileged": False,
                                    "runAsUser": 0,
                                    "runAsNonRoot": True,
                                    "readOnlyRootFilesystem": True,
                                    "allowPrivilegeEscalation": False,
                                    "runAsGroup": 3,
                                    "procMount": "Default",
                                    "seccompProfile": {"type": "RuntimeDefault"},
                                },
                                "stdin": True,
                                "stdinOnce": True,
                                "tty": True,
                            },
                            {"name": "second", "image": "yy", "livenessProbe": {"grpc": {"port": 5, "service": "s"}}},
                        ],
                    },
                },
            },
        },
    },
}
