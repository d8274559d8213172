import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { TraceSampler } from '../config/tracing.ts'

/** `parentbased_…` follows the caller; the rest of the name applies where no caller has decided. */
export function samplerOf(name: TraceSampler, ratio: number): Sampler {
  const root = roots[name.replace('parentbased_', '') as keyof typeof roots](ratio)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

const roots = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio: number) => new TraceIdRatioBasedSampler(ratio),
} as const
