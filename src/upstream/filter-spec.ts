import { SourceError } from '../domain/source-error.ts'
import type { UpstreamSpec } from '../filter-spec/upstream-spec.ts'
import { readUpstreamSpec } from '../filter-spec/upstream-spec.ts'
import type { Get } from './get.ts'

/** A filter spec with its listing shape, after decompression. */
export const MAX_SPEC_BYTES = 1024 * 1024

/**
 * Asks an upstream for its filter spec; `null` where it has none to show (404). `known` is what it said last: it comes
 * back as it is where nothing has changed (`If-None-Match`, 304).
 * Throws a `SourceError`: `not_json` for an answer that is no filter spec.
 */
export type FetchFilterSpec = (known: UpstreamSpec | null) => Promise<UpstreamSpec | null>

/** `GET {url}/filter-spec` (`protocol.md` 1.13). */
export const fetchFilterSpec =
  (get: Get): FetchFilterSpec =>
  async (known) => {
    const headers = known?.etag ? { 'if-none-match': `"${known.etag}"` } : {}
    const { status, body } = await get('/filter-spec', {
      limit: MAX_SPEC_BYTES,
      headers,
      expected: [304, 404],
    })
    if (status === 304) return known
    if (body === null) return null
    try {
      const spec = readUpstreamSpec(body)
      return known !== null && known.etag !== null && spec.etag === known.etag ? known : spec
    } catch (cause) {
      throw new SourceError('not_json', (cause as Error).message, { cause })
    }
  }
