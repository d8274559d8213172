import { nearestName, nearestValue } from '../../domain/nearest-name.ts'
import type { ValueReading } from '../meaning.ts'
import type { GpuModel, NameIndex } from './gpu-model.ts'
import type { GpuTable } from './gpu-table.ts'
import { isCommonWord, keyOfText, nameParts } from './name-parts.ts'
import { namedMemory } from './read-gpu.ts'
import { type NameReading, readName, scanName } from './read-name.ts'

/** Parameters to ask instead. */
type GpuHint = { gpu: string; gpu_variant?: string; gpu_memory_gb_min?: string }
type VariantHint = { gpu?: string; gpu_variant: string }

const MAX_SUGGESTIONS = 5
/** Names that an unknown text is compared with, letter by letter. */
const MAX_COMPARED = 2000

/** What a reader asks as `gpu`. A text that says more than a model gets what says it all, so that no answer is wider. */
export function readGpuValue(table: GpuTable, text: string): ValueReading<GpuHint> {
  const name = readName(table.names, text)
  if (name?.isPlain) return { value: name.model.model }
  if (name !== null) return { near: [hintOf(name)] }
  return { near: nearModels(table, text).map((gpu) => ({ gpu })) }
}

function hintOf(name: NameReading): GpuHint {
  const memory = namedMemory(name)
  return {
    gpu: name.model.model,
    ...(name.variant && { gpu_variant: name.variant.name }),
    ...(memory !== null && { gpu_memory_gb_min: String(memory) }),
  }
}

/** The models that are in a text, or else those with all its parts in a name, or else the one that is spelled most like it. */
function nearModels({ models, names }: GpuTable, text: string): readonly string[] {
  const parts = nameParts(text) ?? []
  const named = scanName(parts, names).models
  const words = parts.map((part) => part.text).filter((word) => !isCommonWord(word))
  const near = named.size > 0 || words.length === 0 ? named : modelsWith(words, names)
  if (near.size > 0) return [...near].slice(0, MAX_SUGGESTIONS).map(({ model }) => model)
  const nearest = nearestName(text, spellingsOf(models))
  return nearest === null ? [] : [names.byKey.get(keyOfText(nearest))!.model]
}

function modelsWith(words: readonly string[], { byKey }: NameIndex): ReadonlySet<GpuModel> {
  const models = new Set<GpuModel>()
  for (const [key, model] of byKey) {
    if (words.every((word) => ` ${key} `.includes(` ${word} `))) models.add(model)
    if (models.size === MAX_SUGGESTIONS) break
  }
  return models
}

/** The model whose name a text misspells, with a letter in place of a digit (`H2O0`) or other letters; `null` for none. */
export function misspeltModel({ models, names }: GpuTable, text: string): string | null {
  const digits = text.replace(LETTERS_AS_DIGITS, (letters) =>
    letters.replace(/o/gi, '0').replace(/[il]/gi, '1'),
  )
  const named = readName(names, digits)
  if (named !== null) return named.model.model
  const nearest = nearestValue(text, spellingsOf(models))
  return nearest === null ? null : names.byKey.get(keyOfText(nearest))!.model
}

const LETTERS_AS_DIGITS = /(?<=\d)[oil]+|[oil]+(?=\d)/gi

const spellingsOf = (models: readonly GpuModel[]): readonly string[] =>
  models.flatMap(({ model, aliases }) => [model, ...aliases]).slice(0, MAX_COMPARED)

/** What a reader asks as `gpu_variant`. */
export function readVariantValue({ names, variants }: GpuTable, text: string): ValueReading<VariantHint> {
  const variant = variants.get(keyOfText(text))
  if (variant !== undefined) return { value: variant }
  const name = readName(names, text)
  if (name?.variant) return { near: [{ gpu: name.model.model, gpu_variant: name.variant.name }] }
  // Without the generation: `SXM` for `SXM4`.
  const { words } = scanName(nameParts(text) ?? [], names)
  const near = variants.get(words.join(' ')) ?? nearestName(text, variants.values())
  return { near: near === null ? [] : [{ gpu_variant: near }] }
}
