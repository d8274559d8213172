import type { GpuModel, GpuVariant, NameIndex } from './gpu-model.ts'
import { isFiller, isSeriesOf } from './gpu-words.ts'
import { type NamePart, nameKey, nameParts } from './name-parts.ts'
import { scanName } from './scan-name.ts'

/** What a text says. */
export type NameReading = {
  model: GpuModel
  /** `null` where the text has none, or several. */
  variant: GpuVariant | null
  memoryGb: number | null
  /** The number of GPUs. */
  count: number | null
  /** Whether it is a name of the model, with words of its vendor at most. */
  isPlain: boolean
}

/** `null` unless every part of the text is understood, and they name one model. */
export function readName(names: NameIndex, text: string): NameReading | null {
  const parts = nameParts(text)
  if (parts === null) return null
  const whole = names.byKey.get(nameKey(parts))
  if (whole !== undefined) return { model: whole, variant: null, memoryGb: null, count: null, isPlain: true }
  const { models, memoryGb, counts, words } = scanName(parts, names)
  const [model, another] = models
  if (model === undefined || another !== undefined || memoryGb.size > 1 || counts.size > 1) return null
  const { variants, unknown, fillers } = sortWords(model, words)
  if (unknown.length > 0) return null
  const [memory = null] = memoryGb
  const [count = null] = counts
  const isPlain = variants.length + fillers + memoryGb.size + counts.size === 0
  return { model, variant: only(variants), memoryGb: memory, count, isPlain }
}

/** Variant and memory of a text whose model is known from elsewhere; parts that are not understood are passed over. */
export function readNameOf(model: GpuModel, text: string): NameReading {
  const parts: readonly NamePart[] = nameParts(text) ?? []
  const { memoryGb, words } = scanName(parts, { byKey: new Map(), longest: 0 })
  const { variants } = sortWords(model, words)
  return { model, variant: only(variants), memoryGb: only([...memoryGb]), count: null, isPlain: false }
}

const only = <Item>(items: readonly Item[]): Item | null => (items.length === 1 ? items[0]! : null)

/** `fillers` counts the words that say something, but nothing of the model. */
function sortWords(model: GpuModel, words: readonly string[]) {
  const variants = new Set<GpuVariant>()
  const unknown: string[] = []
  let fillers = 0
  for (let at = 0; at < words.length; ) {
    const word = words[at]!
    const variant = variantAt(model.variants, words, at)
    if (variant !== null) variants.add(variant)
    else if (isFiller(word)) fillers++
    else if (!isSeriesOf(word, model.vendor)) unknown.push(word)
    at += variant?.words.length ?? 1
  }
  return { variants: [...variants], unknown, fillers }
}

/** The one with the most words. */
function variantAt(variants: readonly GpuVariant[], words: readonly string[], at: number): GpuVariant | null {
  let longest: GpuVariant | null = null
  for (const variant of variants)
    if (
      variant.words.length > (longest?.words.length ?? 0) &&
      variant.words.every((word, n) => words[at + n] === word)
    )
      longest = variant
  return longest
}
