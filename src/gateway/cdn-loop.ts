import { isPseudonym } from '../domain/pseudonym.ts'
import { EntrepotError } from '../errors.ts'

/** Most gateways that a question may have passed through before this one. */
const MAX_HOPS = 3

/** The gateways that a question passed through. */
type RequestPath = {
  /** In order, this one last: what is sent on. */
  via: readonly string[]
  /** Whether this gateway was among them before: then the local Registry alone answers. */
  isLoop: boolean
}

/**
 * Reads `CDN-Loop` (RFC 8586): the gateways that sent the question on, each with parameters that are ignored.
 * @throws EntrepotError `loop` for a question that has been through more than `MAX_HOPS` gateways
 */
export function parseCdnLoop(cdnLoop: string | undefined, gatewayId: string): RequestPath {
  const before = cdnLoop === undefined ? [] : cdnLoop.split(',').map(nameOf).filter(Boolean)
  if (before.length > MAX_HOPS)
    throw new EntrepotError(
      'loop',
      `The question has been through ${before.length} gateways already; ask one that is closer to the Registries`,
    )
  return { via: [...before.filter(isPseudonym), gatewayId], isLoop: before.includes(gatewayId) }
}

function nameOf(entry: string): string {
  return entry.replace(/;.*/s, '').trim()
}
