import { z } from 'zod'
import { lazy } from '../domain/lazy.ts'
import type { Violation } from '../errors.ts'
import { EMPTY_GPU_TABLE, extendGpuTable, type GpuTable } from '../vocabulary/gpus/gpu-table.ts'
import { readRowFile, withoutProblems } from './row-file.ts'
import { shippedFile } from './shipped-files.ts'

/** The models of `config/gpus.toml`, with the rows of the operator's file. Problems have file and line. */
export const readGpuTable = (operatorFile: string | null, problems: Violation[]): GpuTable =>
  operatorFile === null ? shippedTable() : extendFrom(shippedTable(), operatorFile, problems)

const shippedTable = lazy(() =>
  withoutProblems((problems) => extendFrom(EMPTY_GPU_TABLE, shippedFile('gpus.toml'), problems)),
)

const MAX_ROWS = 2000
const MAX_ALIASES = 50
const MAX_VARIANTS = 20
const MAX_VALUES = 20

function extendFrom(base: GpuTable, file: string, problems: Violation[]): GpuTable {
  const { rows, report } = readRowFile(file, { gpus: gpuRow, names: nameRow }, MAX_ROWS, problems)
  const found: Violation[] = []
  const table = extendGpuTable(base, rows, found)
  report(found)
  return table
}

const memory = numbers(4096)
const tflops = number(1_000_000)

const variantRow = z.strictObject(
  { name: text(64), memory_gb: memory.optional(), fp16_tflops: tflops.optional() },
  'expected a table such as { name = "SXM" }',
)

const gpuRow = z.strictObject({
  model: text(64),
  vendor: text(64).optional(),
  aliases: list(text(100), MAX_ALIASES, 'texts').optional(),
  memory_gb: memory.optional(),
  fp16_tflops: tflops.optional(),
  variants: list(variantRow, MAX_VARIANTS, 'tables').optional(),
})

const nameRow = z.strictObject({ source: text(200), text: text(200), model: text(64) })

function text(length: number) {
  const expected = `expected a text of 1 to ${length} characters`
  return z.string(expected).min(1, expected).max(length, expected)
}

function number(largest: number) {
  const expected = `expected a number above 0, at most ${largest}`
  return z.number(expected).positive(expected).max(largest, expected)
}

function numbers(largest: number) {
  return list(number(largest), MAX_VALUES, 'numbers')
}

function list<Item extends z.ZodType>(item: Item, most: number, what: string) {
  const expected = `expected a list of at most ${most} ${what}`
  return z.array(item, expected).max(most, expected)
}
