import { ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace-base'
import test from 'ava'
import type { TraceSampler } from '../../src/config/settings.ts'
import { createSampler } from '../../src/tracing/tracer.ts'

const TRACES = 400

/** The part of traces that is recorded, whose callers have decided so or not at all. */
function share(name: TraceSampler, ratio: number, caller: 'sampled' | 'unsampled' | null): number {
  const sampler = createSampler(name, ratio)
  const kept = Array.from({ length: TRACES }, (_, n) => {
    const traceId = n.toString(16).padStart(8, '1').repeat(4)
    const traceFlags = caller === 'sampled' ? TraceFlags.SAMPLED : TraceFlags.NONE
    const context =
      caller === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, {
            traceId,
            spanId: '00f067aa0ba902b7',
            traceFlags,
            isRemote: true,
          })
    const { decision } = sampler.shouldSample(context, traceId, 'GET', SpanKind.SERVER, {}, [])
    return decision === SamplingDecision.RECORD_AND_SAMPLED
  })
  return kept.filter(Boolean).length / TRACES
}

test('sampler: each sampler records the share that its name states', (t) => {
  t.is(share('always_on', 1, null), 1)
  t.is(share('always_off', 1, 'sampled'), 0)
  t.is(share('traceidratio', 0, 'sampled'), 0)
  t.is(share('traceidratio', 1, 'unsampled'), 1)
  for (const name of [
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ] as const) {
    t.is(share(name, 0, 'sampled'), 1, name)
    t.is(share(name, 1, 'unsampled'), 0, name)
  }
  t.is(share('parentbased_always_on', 1, null), 1)
  t.is(share('parentbased_always_off', 1, null), 0)
  t.is(share('parentbased_traceidratio', 0, null), 0)
})
