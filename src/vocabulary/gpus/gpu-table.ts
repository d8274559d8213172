import { suggestName } from '../../domain/nearest-name.ts'
import type { Violation } from '../../errors.ts'
import type { GpuModel, GpuRow, GpuVariant, NameIndex, NameRow } from './gpu-model.ts'
import { isCommonWord } from './gpu-words.ts'
import { nameKey, nameParts } from './name-parts.ts'
import { readName } from './read-name.ts'
import { scanName } from './scan-name.ts'

/** What the names of GPUs mean. */
export type GpuTable = {
  /** In the order of the files. */
  models: readonly GpuModel[]
  names: NameIndex
  /** Models by source and exact text. */
  sources: SourceNames
  /** Names of variants by `nameKey()`. */
  variants: ReadonlyMap<string, string>
}

type SourceNames = ReadonlyMap<string, ReadonlyMap<string, GpuModel>>

const NO_NAMES: NameIndex = { byKey: new Map(), longest: 0 }
export const EMPTY_GPU_TABLE: GpuTable = {
  models: [],
  names: NO_NAMES,
  sources: new Map(),
  variants: new Map(),
}

const MAX_PARTS = 12

type MutableIndex = NameIndex & { byKey: Map<string, GpuModel> }

type Context = {
  /** Models by the key of every name. */
  owners: Map<string, string>
  complain: (path: string, message: string) => void
}

/**
 * The table with further rows. A row of a model that `base` has adds aliases, replaces variants of the same name, and replaces
 * the other members that it has. Each problem is added to `problems`, under the path of its row.
 */
export function extendGpuTable(
  base: GpuTable,
  { gpus, names }: { gpus: readonly GpuRow[]; names: readonly NameRow[] },
  problems: Violation[],
): GpuTable {
  const owners = new Map([...base.names.byKey].map(([key, { model }]) => [key, model]))
  const context = {
    owners,
    complain: (path: string, message: string) => void problems.push({ path, message }),
  }
  const rows = claimModels(gpus, context)
  const models = new Map(base.models.map((model) => [model.model, model]))
  for (const row of rows) models.set(row.model, extendModel(models.get(row.model), row, context))
  const byKey = new Map([...owners].map(([key, model]) => [key, models.get(model)!]))
  const index = { byKey, longest: partsOfLongest(byKey.keys()) }
  for (const row of rows) checkMeanings(row, index, context)
  return {
    models: [...models.values()],
    names: index,
    sources: extendSources(base.sources, models, names, context),
    variants: variantNames(models.values()),
  }
}

function partsOfLongest(keys: Iterable<string>): number {
  let longest = 0
  for (const key of keys) longest = Math.max(longest, key.split(' ').length)
  return longest
}

/** The rows of good models, each with the spelling that its model has already. */
function claimModels(rows: readonly GpuRow[], { owners, complain }: Context): GpuRow[] {
  const taken = new Set<string>()
  return rows.flatMap((row) => {
    const key = keyOf(row.model)
    const model = owners.get(key) ?? row.model
    const problem = modelProblem(row.model, model, taken)
    if (problem !== null) {
      complain(`${row.path}.model`, problem)
      return []
    }
    taken.add(model)
    owners.set(key, model)
    return [{ ...row, model }]
  })
}

function modelProblem(name: string, model: string, taken: ReadonlySet<string>): string | null {
  if (taken.has(model)) return `'${model}' has two rows; join them`
  if (keyOf(name) !== keyOf(model)) return `'${name}' is an alias of ${model}; write model = "${model}"`
  return nameProblem(name)
}

function extendModel(base: GpuModel | undefined, row: GpuRow, context: Context): GpuModel {
  const variants = variantsOf(row, context)
  const replaced = new Set(variants.map(({ words }) => words.join(' ')))
  const kept = (base?.variants ?? []).filter(({ words }) => !replaced.has(words.join(' ')))
  return {
    model: row.model,
    vendor: row.vendor ?? base?.vendor ?? null,
    aliases: [...new Set([...(base?.aliases ?? []), ...claimAliases(row, context)])],
    memoryGb: row.memory_gb?.toSorted(ascending) ?? base?.memoryGb ?? [],
    fp16Tflops: row.fp16_tflops ?? base?.fp16Tflops ?? null,
    variants: [...kept, ...variants],
  }
}

const claimAliases = ({ path, model, aliases = [] }: GpuRow, { owners, complain }: Context): string[] =>
  aliases.filter((alias, n) => {
    const key = keyOf(alias)
    const owner = owners.get(key) ?? model
    const problem =
      owner === model ? nameProblem(alias) : `'${alias}' is a name of ${owner}, too; remove one of them`
    if (problem === null) owners.set(key, model)
    else complain(`${path}.aliases[${n}]`, problem)
    return problem === null
  })

function variantsOf({ path, variants = [] }: GpuRow, { complain }: Context): GpuVariant[] {
  const taken = new Set<string>()
  return variants.flatMap(({ name, memory_gb, fp16_tflops }, n) => {
    const words = variantWords(name)
    const problem = variantProblem(name, words, taken)
    if (problem !== null) {
      complain(`${path}.variants[${n}].name`, problem)
      return []
    }
    taken.add(words.join(' '))
    return [
      { name, words, memoryGb: memory_gb?.toSorted(ascending) ?? null, fp16Tflops: fp16_tflops ?? null },
    ]
  })
}

function variantProblem(name: string, words: readonly string[], taken: ReadonlySet<string>): string | null {
  if (words.length === 0)
    return 'expected a form such as SXM or PCIe; the memory of a variant is its memory_gb'
  return taken.has(words.join(' ')) ? `two variants are named '${name}'; join them` : null
}

/** Empty for a name that cannot be a variant's. */
function variantWords(name: string): readonly string[] {
  const { memoryGb, counts, words } = scanName(nameParts(name) ?? [], NO_NAMES)
  return memoryGb.size + counts.size === 0 ? words : []
}

function nameProblem(name: string): string | null {
  const parts = nameParts(name)
  if (parts === null || parts.length === 0)
    return 'expected letters A-Z and digits, with spaces or any of - _ / . , ( ) between them; [[names]] takes every text'
  return parts.length > MAX_PARTS ? `expected at most ${MAX_PARTS} words and numbers` : null
}

/** A name must not read as another model by its parts, nor be made of words that other names have, too. */
function checkMeanings(
  { path, model, aliases = [] }: GpuRow,
  index: MutableIndex,
  { complain }: Context,
): void {
  const names = [model, ...aliases]
  for (const [n, name] of names.entries()) {
    const key = keyOf(name)
    const gpuModel = index.byKey.get(key)
    if (gpuModel?.model !== model) continue
    index.byKey.delete(key)
    const meaning = readName(index, name)?.model ?? gpuModel
    const { models, words } = scanName(nameParts(name) ?? [], index)
    index.byKey.set(key, gpuModel)
    const at = n === 0 ? `${path}.model` : `${path}.aliases[${n - 1}]`
    if (meaning !== gpuModel)
      complain(at, `'${name}' reads as ${meaning.model} by its parts; choose another name`)
    else if (models.size === 0 && words.every(isCommonWord))
      complain(at, `'${name}' has only words that every name may have; choose another name`)
  }
}

function extendSources(
  base: SourceNames,
  models: ReadonlyMap<string, GpuModel>,
  rows: readonly NameRow[],
  { complain }: Context,
): SourceNames {
  const sources = new Map(
    [...base].map(([source, texts]) => [
      source,
      new Map([...texts].map(([text, { model }]) => [text, models.get(model)!])),
    ]),
  )
  for (const { path, source, text, model } of rows) {
    const texts = sources.get(source) ?? new Map<string, GpuModel>()
    const gpuModel = models.get(model)
    if (gpuModel === undefined)
      complain(
        `${path}.model`,
        `no model is named '${model}'${suggestName(model, models.keys()) || '; add it to [[gpus]]'}`,
      )
    else if (texts.has(text)) complain(path, `'${text}' of source ${source} has two rows; remove one`)
    else sources.set(source, texts.set(text, gpuModel))
  }
  return sources
}

/** The first spelling of each. */
function variantNames(models: Iterable<GpuModel>): Map<string, string> {
  const names = new Map<string, string>()
  for (const { variants } of models)
    for (const { name } of variants) if (!names.has(keyOf(name))) names.set(keyOf(name), name)
  return names
}

/** Of texts that are no names, the text itself. */
const keyOf = (name: string): string => nameKey(nameParts(name) ?? []) || name

const ascending = (a: number, b: number): number => a - b
