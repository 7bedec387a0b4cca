{{- define "stromboli.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The full name: the release name, with the chart name unless it contains it. */}}
{{- define "stromboli.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "stromboli.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "stromboli.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The pod selector of a component: (dict "root" . "component" "scheduler"). Selectors are immutable. */}}
{{- define "stromboli.selected" -}}
app.kubernetes.io/name: {{ include "stromboli.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The metadata of an object: (dict "root" . "component" "scheduler" "name" "..." "cluster" true). */}}
{{- define "stromboli.metadata" -}}
{{- $given := .root.Values.custom | default dict -}}
{{- $labels := include "stromboli.selected" . | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" "stromboli" -}}
{{- $_ := set $labels "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
name: {{ .name }}
{{- if not .cluster }}
namespace: {{ .namespace | default .root.Release.Namespace }}
{{- end }}
labels:
  {{- merge $labels (.labels | default dict) ($given.common_labels | default dict) .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The service account of a component: (dict "root" . "component" "scheduler"). */}}
{{- define "stromboli.account" -}}
{{- $settings := index .root.Values .component -}}
{{- if $settings.serviceAccount.create -}}
{{- default (printf "%s-%s" (include "stromboli.fullname" .root) .component) $settings.serviceAccount.name -}}
{{- else -}}
{{- required (printf "%s.serviceAccount.name: name the account, or set %s.serviceAccount.create" .component .component) $settings.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The lease of a component. */}}
{{- define "stromboli.lease" -}}
{{- include "stromboli.fullname" .root -}}{{- if ne .component "scheduler" -}}-{{ .component }}{{- end -}}
{{- end -}}

{{- define "stromboli.image" -}}
{{- $registry := (.Values.basic | default dict).image_registry | default .Values.image.registry -}}
{{- $image := .Values.image.repository -}}
{{- if $registry -}}{{- $image = printf "%s/%s" $registry $image -}}{{- end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $image .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* How a ServiceMonitor connects. */}}
{{- define "stromboli.scrapeScheme" -}}
scheme: {{ .Values.metrics.scheme }}
{{- if eq .Values.metrics.scheme "https" }}
tlsConfig:
  {{- toYaml (.Values.metrics.serviceMonitor.tlsConfig | default (dict "insecureSkipVerify" true)) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The controllers that run, of the settings of the controllers: a YAML list. */}}
{{- define "stromboli.controllers" -}}
{{- $chosen := list -}}
{{- range list "podgroup" "queue" "hypernode" "job" "jobflow" "jobtemplate" "cronjob" -}}
{{- if and (or (has . $.controllers) (has "*" $.controllers)) (not (has (printf "-%s" .) $.controllers)) -}}
{{- $chosen = append $chosen . -}}
{{- end -}}
{{- end -}}
{{- toYaml $chosen -}}
{{- end -}}

{{/* The headless service by which Prometheus discovers the metrics of a component, and its ServiceMonitor. */}}
{{- define "stromboli.metricsService" -}}
{{- if include "stromboli.measures" .root }}
{{- $name := printf "%s-%s" (include "stromboli.fullname" .root) .component }}
---
apiVersion: v1
kind: Service
metadata:
  {{- $annotations := dict "prometheus.io/scrape" "true" "prometheus.io/port" "8080" "prometheus.io/scheme" .root.Values.metrics.scheme }}
  {{- include "stromboli.metadata" (dict "root" .root "component" .component "name" $name "annotations" $annotations) | nindent 2 }}
spec:
  clusterIP: None
  selector:
    {{- include "stromboli.selected" . | nindent 4 }}
  ports:
  - name: metrics
    port: 8080
    targetPort: metrics
{{- if .root.Values.metrics.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  {{- include "stromboli.metadata" (dict "root" .root "component" .component "name" $name "labels" .root.Values.metrics.serviceMonitor.labels) | nindent 2 }}
spec:
  selector:
    matchLabels:
      {{- include "stromboli.selected" . | nindent 6 }}
  endpoints:
  - port: metrics
    interval: {{ .root.Values.metrics.serviceMonitor.interval }}
    {{- include "stromboli.scrapeScheme" .root | nindent 4 }}
    {{- include "stromboli.scrapeToken" .root | nindent 4 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* How a ServiceMonitor sends a token. */}}
{{- define "stromboli.scrapeToken" -}}
{{- with .Values.metrics.serviceMonitor.authorization -}}
authorization:
  {{- toYaml . | nindent 2 }}
{{- else -}}
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
{{- end -}}
{{- end -}}
