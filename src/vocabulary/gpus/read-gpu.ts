import { meaningAt } from '../source-rows.ts'
import { dataSheetGbOf, fp16TflopsOf, memoryOf } from './data-sheet.ts'
import type { GpuTable } from './gpu-table.ts'
import { MAX_NAME_LENGTH } from './name-parts.ts'
import { type NameReading, readName, readNameOf } from './read-name.ts'

/** What a listing says of its GPUs. */
export type GpuReading = {
  /** `false`: the listing names no GPU. */
  isGpu: boolean
  /** `null`: not recognised. */
  model: string | null
  variant: string | null
  /** Whether the name leaves a variant open. */
  mayHaveVariant: boolean
  /** Of one GPU, ascending; several where the name leaves it open, none where it is not known. */
  memoryGb: readonly number[]
  /** Of one GPU, by the tables; the least where several are open, `null` without a value. */
  dataSheetGb: number | null
  /** Dense, of one GPU; the least where several are open, `null` without a value. */
  fp16Tflops: number | null
}

/** Members of a listing's `offer_resource`, as the seller wrote them. */
export type GpuResource = {
  gpu_model?: unknown
  gpu_count?: unknown
  /** Of one GPU. */
  gpu_memory_gb?: unknown
}

const NO_GPU: GpuReading = {
  isGpu: false,
  model: null,
  variant: null,
  mayHaveVariant: false,
  memoryGb: [],
  dataSheetGb: null,
  fp16Tflops: null,
}

export function readGpu(table: GpuTable, source: string, resource: GpuResource): GpuReading {
  const { gpu_model: text } = resource
  const count = countOf(resource.gpu_count)
  const name = typeof text === 'string' ? readText(table, source, text, count) : null
  const isNamed = text !== undefined && text !== null && !(typeof text === 'string' && text.trim() === '')
  if (name === null && (count === null ? !isNamed : count < 1)) return NO_GPU
  const measured = measuredMemory(resource.gpu_memory_gb)
  if (name === null)
    return { ...NO_GPU, isGpu: true, mayHaveVariant: true, memoryGb: measured === null ? [] : [measured] }
  const memoryGb = memoryOf(name, measured)
  return {
    isGpu: true,
    model: name.model.model,
    variant: name.variant?.name ?? null,
    mayHaveVariant: name.variant === null && name.model.variants.length > 0,
    memoryGb,
    dataSheetGb: dataSheetGbOf(name, memoryGb),
    fp16Tflops: fp16TflopsOf(name, memoryGb),
  }
}

/** What the source means by the text, or else what the text means by its parts. */
function readText(table: GpuTable, source: string, text: string, count: number | null): NameReading | null {
  if (text.length > MAX_NAME_LENGTH) return null
  const model = meaningAt(table.sources, source, text)
  if (model !== null) return readNameOf(model, text)
  const name = readName(table.names, text)
  // `8x H100` with a `gpu_count` of 1 means something else by one of them.
  return name === null || name.count === null || count === null || name.count === count ? name : null
}

function countOf(value: unknown): number | null {
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'number' && !Number.isNaN(value) ? value : null
}

/** A larger number is in another unit. */
const MAX_MEMORY_GB = 4096

const measuredMemory = (value: unknown): number | null =>
  typeof value === 'number' && value > 0 && value <= MAX_MEMORY_GB ? value : null
