import type { SpanExporter } from '@opentelemetry/sdk-trace-base'

export type ExportLog = {
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
}

/** Logs when exports begin to fail and when they succeed again. */
export function told(exporter: SpanExporter, endpoint: string, log: ExportLog): SpanExporter {
  // The rest of the URL may hold a token.
  const collector = new URL(endpoint).origin
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== 0
        if (hasFailed && !isFailing)
          log.warn({ collector, reason: result.error?.message }, 'traces cannot be sent and are lost')
        if (!hasFailed && isFailing) log.info({ collector }, 'traces are sent again')
        isFailing = hasFailed
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
