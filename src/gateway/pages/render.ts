import { remembered } from '../../domain/remembered.ts'
import type { Violation } from '../../errors.ts'
import { withMember } from '../../json/members.ts'
import { CLOSE_BRACE, COMMA } from '../../json/scanner.ts'
import { ENVELOPE_START, envelopeEnd } from '../../wire/envelope.ts'
import type { ItemPrice } from '../../wire/listing.ts'
import type { Hints } from '../counts/hints.ts'
import type { NearMiss } from '../counts/near-misses.ts'
import { countUnchecked, sourceMembers } from '../source-report.ts'
import { qualifiedName } from '../sources.ts'
import type { MergedItem } from './merged-item.ts'
import type { MergedPage } from './page.ts'

/**
 * Renders into one buffer, since copying is faster than a view of each item. `rows`: the part of `body` with the items.
 */
export function renderMerged(
  page: Omit<MergedPage, 'outcomes' | 'isCurrent'> &
    Partial<Hints> & {
      nearMisses?: readonly NearMiss[] | undefined
      hasPrivate?: boolean
      warnings?: readonly Violation[] | undefined
    },
): {
  body: Buffer
  rows: Buffer
} {
  const { items, total, complete, nextCursor, unplaced, suggestions, warnings, hasPrivate = false } = page
  const before = { unchecked: countUnchecked(items) || undefined, unplaced, suggestions, warnings }
  const after = { private_sources: hasPrivate || undefined, ...sourceMembers(page), next_cursor: nextCursor }
  const more = `${membersOf({ complete, ...before })}${renderNearMisses(page.nearMisses)}${membersOf(after)}`
  const tail = envelopeEnd(items.length, total, more)
  const metas = items.map((item) => `,"_meta":${renderMeta(item)}}`)
  let size = ENVELOPE_START.length + Buffer.byteLength(tail) - Math.min(1, items.length)
  // Each item loses its closing brace, and gets a comma before it but for the first.
  for (let n = 0; n < items.length; n++) size += items[n]!.bytes.length + Buffer.byteLength(metas[n]!)
  const body = Buffer.allocUnsafeSlow(size)
  let end = ENVELOPE_START.copy(body)
  for (let n = 0; n < items.length; n++) {
    const { bytes } = items[n]!
    if (n > 0) body[end++] = COMMA
    body.set(bytes, end)
    end += bytes.length - 1
    while (body[end] !== CLOSE_BRACE) end--
    end += body.write(metas[n]!, end)
  }
  const rows = body.subarray(ENVELOPE_START.length, end)
  end += body.write(tail, end)
  return { body: body.subarray(0, end), rows }
}

/** Behind others; those without a value are left out. */
const membersOf = (members: object): string => `,${JSON.stringify(members).slice(1, -1)}`

function renderNearMisses(misses: readonly NearMiss[] = []): string {
  if (misses.length === 0) return ''
  const texts = misses.map(
    ({ differs, merged }) => `{"differs":${JSON.stringify(differs)},"listing":${renderItem(merged)}}`,
  )
  return `,"near_misses":[${texts}]`
}

export function renderItem(merged: MergedItem): Buffer {
  return withMember(merged.bytes, '_meta', renderMeta(merged))
}

function renderMeta(merged: MergedItem): string {
  const { item, registry, alsoIn, stale, differs, conflict, disputed, unchecked, notIn, price } = merged
  const publisher = item.publisher === null ? '' : `,"publisher":${quoted(item.publisher)}`
  let meta = `{"registry":${quoted(qualifiedName(registry, item))}${publisher}`
  if (item.aliases !== undefined) meta += `,"publisher_aliases":${JSON.stringify(item.aliases)}`
  meta += `,"also_in":${alsoIn.length === 0 ? '[]' : JSON.stringify(alsoIn)},"stale":${stale}`
  if (merged.label !== undefined) meta += `,"label":${JSON.stringify(merged.label)}`
  if (differs) meta += ',"differs":true'
  if (conflict) meta += ',"conflict":true'
  if (disputed.length > 0) meta += `,"disputed":${JSON.stringify(disputed)}`
  if (unchecked.length > 0) meta += `,"unchecked":${JSON.stringify(unchecked)}`
  if (notIn.length > 0) meta += `,"not_in":${JSON.stringify(notIn)}`
  if (merged.via !== undefined) meta += `,"via":${JSON.stringify(merged.via)}`
  if (merged.ageSeconds !== undefined) meta += `,"age_seconds":${merged.ageSeconds}`
  if (merged.meaning) meta += `,${merged.meaning}`
  if (price !== undefined) meta += `,"price":${textOf(price)}`
  return `${meta}}`
}

/** Many listings have the same source, and many the same publisher. */
function quoted(text: string): string {
  return remembered(QUOTED, text, () => JSON.stringify(text))
}

const QUOTED = new Map<string, string>()

/** Many listings have the same price, which is one object. */
function textOf(price: ItemPrice): string {
  const known = TEXTS.get(price)
  if (known !== undefined) return known
  const text = JSON.stringify(price)
  TEXTS.set(price, text)
  return text
}

const TEXTS = new WeakMap<ItemPrice, string>()
