{{- define "broker.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "broker.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "broker.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "broker.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "broker.selector" -}}
app.kubernetes.io/name: {{ include "broker.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "broker.labels" -}}
{{ include "broker.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "broker.configMap" -}}
{{- if and .Values.config .Values.existingConfigMap }}
{{- fail "set either config or existingConfigMap, not both" }}
{{- end }}
{{- if .Values.config }}
{{- printf "%s-config" (include "broker.fullname" .) }}
{{- else }}
{{- required "set config with --set-file config=broker.yml, or existingConfigMap" .Values.existingConfigMap }}
{{- end }}
{{- end }}

{{- define "broker.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "broker.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "broker.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "broker.scheme" -}}
{{- ternary "HTTPS" "HTTP" (not (empty .Values.tls.existingSecret)) }}
{{- end }}

{{- /* Fails on a literal secret below `value`: a ConfigMap is no place for it, and Helm stores the values of each release. */}}
{{- define "broker.refuseSecrets" -}}
{{- $path := .path }}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- $inner := ternary $key (printf "%s.%s" $path $key) (empty $path) }}
{{- if and (regexMatch "^(.*_)?(password|secret)$" $key) (has (kindOf $value) (list "string" "float64" "int64")) }}
{{- if not (regexMatch "^(\\$\\{[^{}]+\\}|\\(\\([^()]+\\)\\)|)$" (toString $value)) }}
{{- fail (printf "config contains the secret %s: put it into a Secret, and write %s_file or ${NAME} instead" $inner $key) }}
{{- end }}
{{- end }}
{{- include "broker.refuseSecrets" (dict "path" $inner "value" $value) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range $index, $value := .value }}
{{- include "broker.refuseSecrets" (dict "path" (printf "%s[%d]" $path $index) "value" $value) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "broker.health" -}}
httpGet:
  path: /health
  port: broker
  scheme: {{ include "broker.scheme" . }}
{{- end }}
