import type { GpuModel } from './gpu-model.ts'
import type { NameReading } from './read-name.ts'

/** GB that one GPU may have: what was measured counts first, then what the name says, then what the table has. */
export function memoryOf(name: NameReading, measured: number | null): readonly number[] {
  const { model, variant } = name
  const meant = variant?.memoryGb ?? model.memoryGb
  if (measured !== null) return [dataSheetMemory(variant === null ? allMemory(model) : meant, measured)]
  const named = namedMemory(name)
  return named === null ? meant : [named]
}

/** What of it the table has, which a price may be divided by: a seller can publish any number as measured. `null` without one. */
export function dataSheetGbOf({ model }: NameReading, memoryGb: readonly number[]): number | null {
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
export function fp16TflopsOf({ model, variant }: NameReading, memoryGb: readonly number[]): number | null {
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
