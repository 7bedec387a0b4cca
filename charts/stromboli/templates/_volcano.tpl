{{/*
The settings of a component as YAML, overridden by Volcano's values: (dict "root" . "component" "scheduler").
Volcano's values have precedence; those of one component over those of all. Values of Volcano's webhook are ignored,
because it has another purpose.
*/}}
{{- define "stromboli.settings" -}}
{{- $given := .root.Values.custom | default dict -}}
{{- $called := ternary "" .component (has .component (list "binder" "admission")) -}}
{{- $settings := deepCopy (index .root.Values .component) -}}
{{- range $ours, $theirs := dict "enabled" "enable" "replicaCount" "replicas" "resources" "resources" "podLabels" "podLabels" -}}
{{- $value := get $given (printf "%s_%s" $called $theirs) -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) -}}{{- $_ := set $settings $ours $value -}}{{- end -}}
{{- end -}}
{{- range $ours, $theirs := dict "affinity" "affinity" "tolerations" "tolerations" "nodeSelector" "ns" -}}
{{- $value := get $given (printf "%s_%s" $called $theirs) | default (get $given (printf "default_%s" $theirs)) -}}
{{- if $value -}}{{- $_ := set $settings $ours $value -}}{{- end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* The names of schedulers, as a YAML list. */}}
{{- define "stromboli.schedulerNames" -}}
{{- with (.Values.custom | default dict).scheduler_name -}}{{- list . | toYaml -}}{{- else -}}{{- toYaml .Values.schedulerNames -}}{{- end -}}
{{- end -}}

{{/* "true", or empty. */}}
{{- define "stromboli.elects" -}}
{{- $given := get (.Values.custom | default dict) "leader_elect_enable" -}}
{{- if kindIs "bool" $given -}}{{- if $given -}}true{{- end -}}{{- else if .Values.leaderElection.enabled -}}true{{- end -}}
{{- end -}}

{{/* "true", or empty. */}}
{{- define "stromboli.measures" -}}
{{- $given := get (.Values.custom | default dict) "scheduler_metrics_enable" -}}
{{- if kindIs "bool" $given -}}{{- if $given -}}true{{- end -}}{{- else if .Values.metrics.enabled -}}true{{- end -}}
{{- end -}}

{{/* The text of the policy. */}}
{{- define "stromboli.policy" -}}
{{- (.Values.custom | default dict).scheduler_config_override | default .Values.config | default (.Files.Get "files/volcano-scheduler.conf") -}}
{{- end -}}

{{/* Values of Volcano's chart that are ignored, one per line. */}}
{{- define "stromboli.ignored" -}}
{{- $known := list "image_registry" "image_pull_secret" "image_pull_policy" -}}
{{- range $key, $value := .Values.basic | default dict -}}
{{- if and (not (has $key $known)) $value }}
basic.{{ $key }}
{{- end -}}
{{- end -}}
{{- $known = list "scheduler_name" "leader_elect_enable" "scheduler_kube_api_qps" "scheduler_kube_api_burst" "scheduler_schedule_period" "scheduler_config_override" "scheduler_metrics_enable" "common_labels" "scheduler_enable" "controller_enable" "scheduler_replicas" "controller_replicas" "scheduler_resources" "controller_resources" "scheduler_podLabels" "controller_podLabels" "default_affinity" "scheduler_affinity" "controller_affinity" "default_tolerations" "scheduler_tolerations" "controller_tolerations" "default_ns" "scheduler_ns" "controller_ns" -}}
{{- range $key, $value := .Values.custom | default dict -}}
{{- if and (not (has $key $known)) $value }}
custom.{{ $key }}
{{- end -}}
{{- end -}}
{{- range $key, $value := .Values.service | default dict -}}
{{- if $value }}
service.{{ $key }}
{{- end -}}
{{- end -}}
{{- end -}}
