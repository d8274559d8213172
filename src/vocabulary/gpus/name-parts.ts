import { splitLetters } from './gpu-words.ts'

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
