import { errors } from 'undici'
import { SourceError, type SourceReason } from '../domain/source-error.ts'

/**
 * What went wrong on the way to an upstream, as the reason that readers are shown. What carries no system, TLS, zlib
 * or undici code is not the upstream's doing and comes back as it is.
 */
export const toSourceError = (error: unknown, upstream: string): unknown => {
  if (error instanceof SourceError || !(error instanceof Error)) return error
  const code = codeOf(error)
  if (code === null) return error
  return new SourceError(reasonOf(code), `${upstream}: ${error.message || code}`, { cause: error })
}

/** undici's parser error has not always a code. */
const codeOf = (error: Error): string | null => {
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === 'string') return code
  return error instanceof errors.HTTPParserError ? 'HPE_UNKNOWN' : null
}

/** An answer that is not 200. A redirect is one too: it is never followed. */
export const reasonOfStatus = (status: number): SourceReason => {
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429) return 'rate_limited'
  return `http_${status}`
}

/** A connection that breaks without telling why counts as reset. */
const reasonOf = (code: string): SourceReason =>
  REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection_reset'

const REASONS: readonly (readonly [RegExp, SourceReason])[] = [
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ENTREPOT_PRIVATE_ADDRESS)$/, 'connection_refused'],
  [/TIMEOUT$|^ETIMEDOUT$/, 'timeout'],
  [/^(ENOTFOUND|ENODATA|ESERVFAIL|EAI_.*)$/, 'dns'],
  [/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)/, 'tls'],
  [/OVERFLOW$/, 'too_large'],
  [/^HPE_INVALID_EOF_STATE$/, 'connection_reset'],
  // What answered does not speak HTTP.
  [/^HPE_/, 'bad_envelope'],
  // Compressed data that is not what its Content-Encoding says (zlib and Brotli codes).
  [/^(Z_|ERR__|ERR_BROTLI|ERR_PADDING)/, 'not_json'],
]
