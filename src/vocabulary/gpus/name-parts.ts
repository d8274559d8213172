/** A word in lower case, or the digits of a number. */
export type NamePart = {
  text: string
  /** Whether nothing separates it from the part before. */
  isGlued: boolean
}

/** Longer texts are not read. */
export const MAX_NAME_LENGTH = 200

const MARKS = /[®™©]/g
const READABLE = /^[a-z\d\s\p{Pd}_/.,:;|()[\]'"]*$/u

/**
 * A name without case, separators and marks: `NVIDIA RTX6000-Ada` is `nvidia`, `rtx`, `6000`, `ada`. Digits on both sides of
 * a separator stay two numbers. `null` for a text that is too long or has other characters.
 */
export function nameParts(text: string): readonly NamePart[] | null {
  if (text.length > MAX_NAME_LENGTH) return null
  const plain = text.replace(MARKS, ' ').normalize('NFKC').toLowerCase().replaceAll('×', 'x')
  if (plain.length > MAX_NAME_LENGTH || !READABLE.test(plain)) return null
  const parts: NamePart[] = []
  let end = -1
  let isNumber = false
  for (const { 0: run, index } of plain.matchAll(/[a-z]+|\d+/g)) {
    const isGlued = index === end
    const words = /\d/.test(run) ? [run] : splitLetters(run, isGlued && isNumber)
    for (const [n, word] of words.entries()) addPart(parts, { text: word, isGlued: n > 0 || isGlued })
    end = index + run.length
    isNumber = /\d/.test(run)
  }
  return parts
}

/** Equal for names that differ in case, separators and marks only. */
export const nameKey = (parts: readonly NamePart[]): string => parts.map(({ text }) => text).join(' ')

/** Empty for a text without a name. */
export const keyOfText = (text: string): string => nameKey(nameParts(text) ?? [])

/** `PCI-E` and `PCI Express` are `PCIe`. */
function addPart(parts: NamePart[], part: NamePart): void {
  const last = parts.at(-1)
  if (last?.text === 'pci' && (part.text === 'e' || part.text === 'express'))
    parts[parts.length - 1] = { ...last, text: 'pcie' }
  else parts.push(part)
}

/** Words of vendors and of their product series, with the vendor. They change no model of that vendor. */
const SERIES: ReadonlyMap<string, string> = new Map([
  ['nvidia', 'nvidia'],
  ['geforce', 'nvidia'],
  ['tesla', 'nvidia'],
  ['quadro', 'nvidia'],
  ['amd', 'amd'],
  ['instinct', 'amd'],
  ['radeon', 'amd'],
  ['intel', 'intel'],
  ['habana', 'intel'],
  ['google', 'google'],
  ['cloud', 'google'],
  ['tenstorrent', 'tenstorrent'],
])

/** Words that say nothing about the model. One that separates two models, such as `Ti` or `Laptop`, must not be added. */
const FILLERS: ReadonlySet<string> = new Set([
  'accelerator',
  'bare',
  'baremetal',
  'card',
  'container',
  'core',
  'dedicated',
  'demand',
  'dgx',
  'edition',
  'eth',
  'ethernet',
  'gddr',
  'generation',
  'gpu',
  'gpus',
  'graphics',
  'hbm',
  'hgx',
  'ib',
  'infiniband',
  'instance',
  'memory',
  'metal',
  'node',
  'nvlink',
  'nvswitch',
  'on',
  'ondemand',
  'passthrough',
  'pcie',
  'reserved',
  'roce',
  'server',
  'spot',
  'tensor',
  'virtual',
  'vm',
  'vram',
  'workstation',
])

export function isSeriesOf(word: string, vendor: string | null): boolean {
  const name = vendor?.toLowerCase()
  return name !== undefined && (SERIES.get(word) === name || name.split(/[^a-z]+/).includes(word))
}

export const isFiller = (word: string): boolean => FILLERS.has(word)

/** Whether a word names no model, of any vendor. */
export const isCommonWord = (word: string): boolean => FILLERS.has(word) || SERIES.has(word)

/** Sellers write the next word without a space behind these: `RTXPRO6000`, `TeslaT4`. */
const GLUED_WORDS: readonly string[] = [...SERIES.keys(), 'gtx', 'pro', 'rtx', 'titan', 'tpu']

const COMPOUNDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['adageneration', ['ada', 'generation']],
  ['maxq', ['max', 'q']],
  ['sffada', ['sff', 'ada']],
  ['tisuper', ['ti', 'super']],
])

/** These end a number, and another word may follow without a space: `8xH100`, `80GBHBM3`. */
const UNITS: readonly string[] = ['gib', 'gb', 'x']

/** The words of a run of letters. */
function splitLetters(letters: string, followsNumber: boolean): readonly string[] {
  const words: string[] = []
  let rest = letters
  for (const heads of followsNumber ? [UNITS, GLUED_WORDS] : [GLUED_WORDS])
    for (let head = headOf(rest, heads); head !== undefined; head = headOf(rest, heads)) {
      words.push(head)
      rest = rest.slice(head.length)
    }
  return [...words, ...(COMPOUNDS.get(rest) ?? [rest])]
}

const headOf = (letters: string, heads: readonly string[]): string | undefined =>
  heads.find((head) => letters.length > head.length && letters.startsWith(head))
