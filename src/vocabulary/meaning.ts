import { remembered } from '../domain/remembered.ts'
import type { GpuTable } from './gpus/gpu-table.ts'
import type { GpuReading } from './gpus/read-gpu.ts'
import type { PlaceReading } from './places/place-model.ts'
import type { PlaceTable } from './places/place-table.ts'

/** Plain data, which threads can exchange. `version` differs where one of them does. */
export type Tables = { gpus: GpuTable; places: PlaceTable; version: string }

/** What a listing offers and where, whatever its seller writes. */
export type Meaning = { gpu: GpuReading; place: PlaceReading }

/** What a reader's text is; or what may be meant instead: a text, or parameters to ask. */
export type ValueReading<Near = string> = { value: string } | { near: readonly Near[] }

/** JSON members of a listing's `_meta`: `gpu` and `place`, each with what is known; empty where nothing is. */
export function describeMeaning({ gpu, place }: Meaning): string {
  const { model, variant, memoryGb } = gpu
  const memory = memoryGb.length === 0 ? undefined : memoryGb.length === 1 ? memoryGb[0] : memoryGb
  const members = [
    ['gpu', { model: model ?? undefined, variant: variant ?? undefined, memory_gb: memory }],
    ['place', { country: place.country ?? undefined, continent: place.continent ?? undefined }],
  ] as const
  return members
    .map(([name, value]) => [name, JSON.stringify(value)])
    .filter(([, json]) => json !== '{}')
    .map(([name, json]) => `"${name}":${json}`)
    .join(',')
}

const MODELS = new Map<string, string | null>()

/** The model in what `describeMeaning` gives; `null` where it is not known. */
export function modelIn(described: string): string | null {
  return remembered(MODELS, described, () => {
    const { gpu } = JSON.parse(`{${described}}`) as { gpu?: { model?: string } }
    return gpu?.model ?? null
  })
}
