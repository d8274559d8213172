import { meaningAt } from '../source-rows.ts'
import type { GpuModel } from './gpu-model.ts'
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

/** GB that one GPU may have: what was measured counts first, then what the name says, then what the table has. */
function memoryOf(name: NameReading, measured: number | null): readonly number[] {
  const { model, variant } = name
  const meant = variant?.memoryGb ?? model.memoryGb
  if (measured !== null) return [dataSheetMemory(variant === null ? allMemory(model) : meant, measured)]
  const named = namedMemory(name)
  return named === null ? meant : [named]
}

/** What of it the table has, which a price may be divided by: a seller can publish any number as measured. `null` without one. */
function dataSheetGbOf({ model }: NameReading, memoryGb: readonly number[]): number | null {
  const [least = null] = memoryGb
  return least !== null && allMemory(model).includes(least) ? least : null
}

/** Sellers measure 45 of 48, or 262 of 288. */
const LARGEST_LOSS = 1.15

const dataSheetMemory = (values: readonly number[], measured: number): number =>
  values.find((value) => value >= measured && value <= measured * LARGEST_LOSS) ?? measured

/** A value that is larger than all is another memory: that of a CPU, or of eight GPUs together. */
export function namedMemory({ model, memoryGb }: NameReading): number | null {
  if (memoryGb === null) return null
  const values = allMemory(model)
  return values.includes(memoryGb) || memoryGb < (values[0] ?? 0) ? memoryGb : null
}

/** Of the model and of its variants. */
const allMemory = ({ memoryGb, variants }: GpuModel): readonly number[] =>
  [...new Set([...memoryGb, ...variants.flatMap((variant) => variant.memoryGb ?? [])])].sort((a, b) => a - b)

/** Without a variant, the least of those that may have this memory; `null` where one of them has no value. */
function fp16TflopsOf({ model, variant }: NameReading, memoryGb: readonly number[]): number | null {
  if (variant !== null) return variant.fp16Tflops ?? model.fp16Tflops
  const meanings = model.variants.map((one) => ({
    memoryGb: one.memoryGb ?? model.memoryGb,
    fp16Tflops: one.fp16Tflops ?? model.fp16Tflops,
  }))
  if (model.fp16Tflops !== null || meanings.length === 0) meanings.push(model)
  const open = meanings.filter((one) => one.memoryGb.some((gb) => memoryGb.includes(gb)))
  const values = (open.length > 0 ? open : meanings).map(({ fp16Tflops }) => fp16Tflops)
  return values.some((value) => value === null) ? null : Math.min(...(values as number[]))
}
