import type { GpuModel, GpuVariant, NameIndex } from './gpu-model.ts'
import { isFiller, isSeriesOf, type NamePart, nameKey, nameParts } from './name-parts.ts'

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

/** What the parts of a text are. */
type ScannedName = {
  models: ReadonlySet<GpuModel>
  memoryGb: ReadonlySet<number>
  /** Numbers of GPUs, such as 8 of `8x`. */
  counts: ReadonlySet<number>
  /** All else. */
  words: readonly string[]
}

/** Reads the parts from left to right; of several names that begin at a part, the longest counts. */
export function scanName(parts: readonly NamePart[], names: NameIndex): ScannedName {
  const models = new Set<GpuModel>()
  const memoryGb = new Set<number>()
  const counts = new Set<number>()
  const words: string[] = []
  /** Gives the number of parts read. */
  const readAt = (at: number): number => {
    const memory = memoryAt(parts, at)
    if (memory !== null) {
      memoryGb.add(memory)
      return 2
    }
    const name = nameAt(parts, at, names)
    if (name !== null) {
      models.add(name.model)
      return name.length
    }
    const count = countAt(parts, at)
    if (count !== null) {
      counts.add(count)
      return 2
    }
    words.push(parts[at]!.text)
    return 1 + generationAt(parts, at)
  }
  for (let at = 0; at < parts.length; at += readAt(at));
  return { models, memoryGb, counts, words }
}

/** `80GB`, `80 GiB`, `80G`, `80Gi`; in `A10 G` and `A10G` the letter is a part of a name. */
function memoryAt(parts: readonly NamePart[], at: number): number | null {
  return isGigabytes(parts, at) ? Number(parts[at]!.text) : null
}

function isGigabytes(parts: readonly NamePart[], at: number): boolean {
  const [amount, unit] = [parts[at]!, parts[at + 1]]
  if (unit === undefined || !/^[1-9]\d{0,3}$/.test(amount.text)) return false
  return /^gi?b$/.test(unit.text) || (/^gi?$/.test(unit.text) && unit.isGlued && !amount.isGlued)
}

function nameAt(parts: readonly NamePart[], at: number, { byKey, longest }: NameIndex) {
  for (let length = Math.min(longest, parts.length - at); length > 0; length--) {
    const model = byKey.get(nameKey(parts.slice(at, at + length)))
    if (model !== undefined && !endsInNextName(parts, at + length)) return { model, length }
  }
  return null
}

/** Whether the letter before `end` begins the next name: `P100 A10` has no `P100A`. */
function endsInNextName(parts: readonly NamePart[], end: number): boolean {
  const last = parts[end - 1]!
  return /^[a-z]$/.test(last.text) && !last.isGlued && parts[end]?.isGlued === true
}

/** `8x`, `8 x H100`, `H100x8`, `H100 x 8`, but not `A100X 8`. */
function countAt(parts: readonly NamePart[], at: number): number | null {
  const [first, second, third] = [parts[at]!, parts[at + 1], parts[at + 2]]
  if (second === undefined) return null
  if (first.text === 'x') return second.isGlued || !first.isGlued ? countOf(second) : null
  if (second.text !== 'x') return null
  return second.isGlued || third?.isGlued === false ? countOf(first) : null
}

const countOf = ({ text }: NamePart): number | null => (/^[1-9]\d{0,2}$/.test(text) ? Number(text) : null)

/** The number of parts behind `SXM`, `HBM` or `GDDR` that are its generation: `SXM4`, `HBM2e`, `GDDR6X`. */
function generationAt(parts: readonly NamePart[], at: number): number {
  const { text } = parts[at]!
  const digit = parts[at + 1]
  if (digit === undefined || !/^[2-7]$/.test(digit.text) || isGigabytes(parts, at + 1)) return 0
  if (text === 'sxm') return digit.isGlued || countAt(parts, at + 1) === null ? 1 : 0
  if (text !== 'hbm' && text !== 'gddr') return 0
  const letter = parts[at + 2]
  return letter?.isGlued && /^[ex]$/.test(letter.text) ? 2 : 1
}

/** The words of a text that mean the variant; empty for a name that cannot be a variant's. */
export function variantWords(name: string): readonly string[] {
  const { memoryGb, counts, words } = scanName(nameParts(name) ?? [], { byKey: new Map(), longest: 0 })
  return memoryGb.size + counts.size === 0 ? words : []
}
