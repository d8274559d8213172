import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  SpanKind as SdkKind,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  SpanStatusCode,
  TraceFlags,
  trace as traces,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { TraceSampler, TracingSettings } from '../config/settings.ts'
import type { Attributes, BeginSpan, Span, SpanKind, Trace, Tracer } from '../domain/trace.ts'

/** Shutdown waits this long, too. */
const EXPORT_TIMEOUT_MS = 3000
const MAX_VALUE_LENGTH = 256
/** Of one request: a stream of a million listings would have very many. */
export const MAX_SPANS = 200

/** Exports in background batches (OTLP over HTTP, JSON). Spans are lost while exports fail. */
export function openTracer(
  { endpoint, serviceName, sampler, ratio }: TracingSettings,
  log: ExportLog,
): { tracer: Tracer; close: () => Promise<void> } {
  const exporter = logExportFailures(
    new OTLPTraceExporter({ url: endpoint, timeoutMillis: EXPORT_TIMEOUT_MS }),
    endpoint,
    log,
  )
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName })),
    sampler: createSampler(sampler, ratio),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH },
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const sdk = provider.getTracer('entrepot')
  const tracer: Tracer = (name, kind, parent, attributes) => {
    const context =
      parent === undefined ? ROOT_CONTEXT : traces.setSpanContext(ROOT_CONTEXT, toSpanContext(parent))
    return recorder(sdk)(context, name, kind, attributes)
  }
  // The failure is logged.
  return { tracer, close: () => provider.shutdown().catch(() => {}) }
}

/** `parentbased_…` follows the caller's decision; without one, the rest of the name applies. */
export function createSampler(name: TraceSampler, ratio: number): Sampler {
  const root = roots[name.replace('parentbased_', '') as keyof typeof roots](ratio)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

const roots = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio: number) => new TraceIdRatioBasedSampler(ratio),
} as const

type ExportLog = {
  info: (about: object, message: string) => void
  warn: (about: object, message: string) => void
}

/** Logs the first of successive failures, and the recovery. */
function logExportFailures(exporter: SpanExporter, endpoint: string, log: ExportLog): SpanExporter {
  // The rest of the URL may hold a token.
  const collector = new URL(endpoint).origin
  let isFailing = false
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== 0
        if (hasFailed && !isFailing)
          log.warn({ collector, reason: result.error?.message }, 'trace export failed')
        if (!hasFailed && isFailing) log.info({ collector }, 'trace export recovered')
        isFailing = hasFailed
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

/** Begins the spans of one request. */
function recorder(sdk: SdkTracer) {
  let remaining = MAX_SPANS
  return function record(context: Context, name: string, kind: SpanKind, attributes: Attributes = {}): Span {
    remaining--
    const span = sdk.startSpan(name, { kind: KINDS[kind], attributes }, context)
    const trace = traceOf(span)
    const parent = traces.setSpan(ROOT_CONTEXT, span)
    const begin: BeginSpan = (...child) =>
      remaining > 0 ? record(parent, ...child) : { ...trace, ...UNRECORDED }
    return {
      ...trace,
      ...(trace.isSampled ? { begin } : {}),
      set: (more) => void span.setAttributes(more),
      rename: (other) => void span.updateName(other),
      end: (failure) => {
        if (failure !== undefined)
          span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }
}

const KINDS: Readonly<Record<SpanKind, SdkKind>> = {
  server: SdkKind.SERVER,
  internal: SdkKind.INTERNAL,
  client: SdkKind.CLIENT,
}

/** Beyond `MAX_SPANS`, work continues under the last recorded span. */
const UNRECORDED = { set: () => {}, rename: () => {}, end: () => {} }

function traceOf(span: SdkSpan): Trace {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0
  return { traceId, spanId, isSampled, state: traceState?.serialize() ?? '' }
}

const toSpanContext = ({ traceId, spanId, isSampled, state }: Trace) => ({
  traceId,
  spanId,
  traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote: true,
  ...(state === '' ? {} : { traceState: createTraceState(state) }),
})
