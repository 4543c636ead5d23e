{{- define "larder.labels" -}}
app.kubernetes.io/name: larder
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The lines of cluster-config: each node's name, address and slots. */}}
{{- define "larder.slots" -}}
{{- $nodes := int .Values.nodes -}}
{{- $service := printf "%s-larder.%s.svc" .Release.Name .Release.Namespace -}}
{{- range $at := until $nodes }}
{{ $.Release.Name }}-larder-{{ $at }} {{ $.Release.Name }}-larder-{{ $at }}.{{ $service }}:{{ $.Values.service.port }} {{ div (mul 16384 $at) $nodes }}-{{ sub (div (mul 16384 (add $at 1)) $nodes) 1 }}
{{- end }}
{{- end -}}
