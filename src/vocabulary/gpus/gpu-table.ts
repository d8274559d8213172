import { suggestName } from '../../domain/nearest-name.ts'
import type { Violation } from '../../errors.ts'
import type { GpuRows } from '../rows.ts'
import type { SourceRows } from '../source-rows.ts'
import type { GpuModel, NameIndex } from './gpu-model.ts'
import { keyOfText } from './name-parts.ts'
import { variantWords } from './read-name.ts'

/** What the names of GPUs mean. */
export type GpuTable = {
  /** In the order of the rows. */
  models: readonly GpuModel[]
  names: NameIndex
  /** Models by source and exact text. */
  sources: SourceRows<GpuModel>
  /** Names of variants by `nameKey()`. */
  variants: ReadonlyMap<string, string>
}

/**
 * Of the rows of all files. A row of a model that an earlier row has adds aliases, replaces variants of the same name, and
 * replaces the other members that it has. Of two rows with one name the later one counts. A source's row with a model that no
 * row has is a problem.
 */
export function buildGpuTable(files: readonly GpuRows[], problems: Violation[]): GpuTable {
  const gpus = files.flatMap((rows) => rows.gpus)
  const models = new Map<string, GpuModel>()
  for (const row of gpus) models.set(keyOfText(row.model), extendModel(models.get(keyOfText(row.model)), row))
  const byKey = new Map<string, GpuModel>()
  for (const { model, aliases = [] } of gpus)
    for (const name of [model, ...aliases]) byKey.set(keyOfText(name), models.get(keyOfText(model))!)
  const sources = new Map<string, Map<string, GpuModel>>()
  for (const row of files.flatMap(({ names }) => names)) {
    const model = models.get(keyOfText(row.model))
    const texts = sources.get(row.source) ?? new Map<string, GpuModel>()
    if (model !== undefined) sources.set(row.source, texts.set(row.text, model))
    else problems.push({ path: row.place('model'), message: noModel(row.model, models.values()) })
  }
  return {
    models: [...models.values()],
    names: { byKey, longest: partsOfLongest(byKey.keys()) },
    sources,
    variants: variantNames(models.values()),
  }
}

function extendModel(base: GpuModel | undefined, row: GpuRows['gpus'][number]): GpuModel {
  const variants = new Map(base?.variants.map((variant) => [variant.words.join(' '), variant] as const))
  for (const { name, memory_gb, fp16_tflops } of row.variants ?? []) {
    const words = variantWords(name)
    const variant = { name, words, memoryGb: ascending(memory_gb) ?? null, fp16Tflops: fp16_tflops ?? null }
    variants.delete(words.join(' '))
    variants.set(words.join(' '), variant)
  }
  return {
    model: base?.model ?? row.model,
    vendor: row.vendor ?? base?.vendor ?? null,
    aliases: [...new Set([...(base?.aliases ?? []), ...(row.aliases ?? [])])],
    memoryGb: ascending(row.memory_gb) ?? base?.memoryGb ?? [],
    fp16Tflops: row.fp16_tflops ?? base?.fp16Tflops ?? null,
    variants: [...variants.values()],
  }
}

const ascending = (values: readonly number[] | undefined): readonly number[] | undefined =>
  values?.toSorted((a, b) => a - b)

function noModel(name: string, models: Iterable<GpuModel>): string {
  const suggestion = suggestName(
    name,
    Array.from(models, ({ model }) => model),
  )
  return `no model is named '${name}'${suggestion || '; add it to [[gpus]]'}`
}

function partsOfLongest(keys: Iterable<string>): number {
  let longest = 0
  for (const key of keys) longest = Math.max(longest, key.split(' ').length)
  return longest
}

/** The first spelling of each. */
function variantNames(models: Iterable<GpuModel>): Map<string, string> {
  const names = new Map<string, string>()
  for (const { variants } of models)
    for (const { name } of variants) if (!names.has(keyOfText(name))) names.set(keyOfText(name), name)
  return names
}
