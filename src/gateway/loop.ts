import { isPseudonym } from '../domain/pseudonym.ts'
import { EntrepotError } from '../errors.ts'

/** Most gateways that a question may have been through before it comes here (`contract.md` 3.1). */
export const MAX_HOPS = 3

/** How a question came here. */
export type Passage = {
  /** Gateways that it has been through, this one last: what is sent on. */
  via: readonly string[]
  /** It has been through this gateway before: its answer is the local Registry's alone. */
  isLoop: boolean
}

/**
 * Reads `CDN-Loop` (RFC 8586): a list of the gateways that have sent the question on, each with parameters that mean
 * nothing here.
 * @throws EntrepotError `loop` for a question that has been through more than `MAX_HOPS` gateways
 */
export const passageOf = (cdnLoop: string | undefined, gatewayId: string): Passage => {
  const before = cdnLoop === undefined ? [] : cdnLoop.split(',').map(nameOf).filter(Boolean)
  if (before.length > MAX_HOPS)
    throw new EntrepotError(
      'loop',
      `The question has been through ${before.length} gateways already; ask one that is closer to the Registries`,
    )
  return { via: [...before.filter(isPseudonym), gatewayId], isLoop: before.includes(gatewayId) }
}

const nameOf = (entry: string): string => entry.replace(/;.*/s, '').trim()
