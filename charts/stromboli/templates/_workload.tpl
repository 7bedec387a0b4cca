{{/*
A process as a Deployment with its disruption budget:
(dict "root" . "component" "scheduler" "arguments" list "ports" list "mounts" list "volumes" list). With "together" true, all
replicas are active without leader election; with "allSchedulers" true, it serves all schedulers. "probe" is where probes ask, by
default at the port "health".
*/}}
{{- define "stromboli.workload" -}}
{{- $settings := include "stromboli.settings" . | fromYaml -}}
{{- $name := printf "%s-%s" (include "stromboli.fullname" .root) .component -}}
{{- $elects := include "stromboli.elects" .root -}}
{{- $names := include "stromboli.schedulerNames" .root | fromYamlArray -}}
{{- $volumes := concat .volumes $settings.extraVolumes -}}
{{- $mounts := concat .mounts $settings.extraVolumeMounts -}}
{{- $probe := .probe | default "port: health" -}}
{{- if and (not .together) (not $elects) (gt (int $settings.replicaCount) 1) -}}
{{- fail (printf "%s.replicaCount: without leaderElection.enabled there can be only one replica, not %d; set it to 1, or switch the election on" .component (int $settings.replicaCount)) -}}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "stromboli.metadata" (dict "root" .root "component" .component "name" $name) | nindent 2 }}
spec:
  replicas: {{ $settings.replicaCount }}
  {{- if or .exclusive (not (or .together $elects)) }}
  strategy:
    type: Recreate
  {{- end }}
  selector:
    matchLabels:
      {{- include "stromboli.selected" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- merge (include "stromboli.selected" . | fromYaml) $settings.podLabels | toYaml | nindent 8 }}
      {{- with $settings.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "stromboli.account" . }}
      automountServiceAccountToken: true
      {{- $secrets := .root.Values.imagePullSecrets }}
      {{- with (.root.Values.basic | default dict).image_pull_secret }}
      {{- $secrets = list (dict "name" .) }}
      {{- end }}
      {{- with $secrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- with $settings.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $settings.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity:
        {{- if $settings.affinity }}
        {{- toYaml $settings.affinity | nindent 8 }}
        {{- else }}
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              labelSelector:
                matchLabels:
                  {{- include "stromboli.selected" . | nindent 18 }}
              topologyKey: kubernetes.io/hostname
        {{- end }}
      {{- with $settings.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      containers:
      - name: {{ .component }}
        image: {{ include "stromboli.image" .root | quote }}
        imagePullPolicy: {{ (.root.Values.basic | default dict).image_pull_policy | default .root.Values.image.pullPolicy }}
        args:
        - {{ .component }}
        {{- range ternary list $names (default false .allSchedulers) }}
        - {{ printf "--scheduler-name=%s" . | quote }}
        {{- end }}
        {{- with .arguments }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- if .together }}
        {{- else if $elects }}
        - --leader-elect-resource-name={{ include "stromboli.lease" . }}
        {{- with .root.Values.leaderElection }}
        {{- if .leaseDuration }}
        - --leader-elect-lease-duration={{ .leaseDuration }}
        {{- end }}
        {{- if .renewDeadline }}
        - --leader-elect-renew-deadline={{ .renewDeadline }}
        {{- end }}
        {{- if .retryPeriod }}
        - --leader-elect-retry-period={{ .retryPeriod }}
        {{- end }}
        {{- end }}
        {{- else }}
        - --leader-elect=false
        {{- end }}
        - --log-format=json
        {{- with .further }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $settings.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with concat (.environment | default list) $settings.extraEnv }}
        env:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        ports:
          {{- toYaml .ports | nindent 10 }}
        startupProbe:
          httpGet:
            path: /livez
            {{- $probe | nindent 12 }}
          periodSeconds: 2
          failureThreshold: 60
        livenessProbe:
          httpGet:
            path: /livez
            {{- $probe | nindent 12 }}
          periodSeconds: 10
          failureThreshold: 3
        readinessProbe:
          httpGet:
            path: /readyz
            {{- $probe | nindent 12 }}
          periodSeconds: 5
          failureThreshold: 3
        resources:
          {{- toYaml $settings.resources | nindent 10 }}
        securityContext:
          {{- toYaml .root.Values.securityContext | nindent 10 }}
        {{- with $mounts }}
        volumeMounts:
          {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- with $volumes }}
      volumes:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- if $settings.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "stromboli.metadata" (dict "root" .root "component" .component "name" $name) | nindent 2 }}
spec:
  maxUnavailable: {{ $settings.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "stromboli.selected" . | nindent 6 }}
{{- end }}
{{- end -}}
