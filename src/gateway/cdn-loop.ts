import { isPseudonym } from '../domain/names.ts'
import { EntrepotError } from '../errors.ts'

const MAX_HOPS = 3

export type RequestPath = {
  /** In order, with this gateway last; absent in the market of a buyer. */
  via?: readonly string[]
  /** Whether this gateway was among them before. */
  isLoop: boolean
}

/**
 * Reads `CDN-Loop` (RFC 8586).
 * @throws EntrepotError `loop` after more than `MAX_HOPS` gateways
 */
export function parseCdnLoop(cdnLoop: string | undefined, gatewayId: string): RequestPath {
  const before = cdnLoop === undefined ? [] : cdnLoop.split(',').map(nameOf).filter(Boolean)
  if (before.length > MAX_HOPS)
    throw new EntrepotError(
      'loop',
      `The query has been through ${before.length} gateways already; ask one that is closer to the Registries`,
    )
  return { via: [...before.filter(isPseudonym), gatewayId], isLoop: before.includes(gatewayId) }
}

function nameOf(entry: string): string {
  return entry.replace(/;.*/s, '').trim()
}
