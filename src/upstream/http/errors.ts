import type { IncomingHttpHeaders } from 'node:http'
import { errors } from 'undici'
import { parseRetryAfter } from '../../domain/retry-after.ts'
import { describeAllMissing, type MissingSource } from '../../domain/source/missing-source.ts'
import type { SourceReason } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'

/** Errors without a system, TLS, zlib or undici code are our own faults, and returned unchanged. */
export function toSourceError(error: unknown, upstream: string): unknown {
  if (error instanceof SourceError || !(error instanceof Error)) return error
  const { code: systemCode } = error as NodeJS.ErrnoException
  const code = systemCode ?? (error instanceof errors.HTTPParserError ? 'HPE_UNKNOWN' : undefined)
  if (typeof code !== 'string') return error
  const words = NOT_TLS.has(code) ? SPEAKS_NO_TLS : error.message || code
  return new SourceError(reasonOf(code), `${upstream}: ${words}`, { cause: error })
}

const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])
const SPEAKS_NO_TLS = 'the server does not speak TLS; is it an http:// URL?'

/** For a response that is not an answer; `what` begins the message. */
export function statusError(
  what: string,
  { status, headers }: { status: number; headers: IncomingHttpHeaders },
  { reason = reasonOfStatus(status), missing = [] }: StatusErrorOptions = {},
): SourceError {
  const names = missing.length === 0 ? '' : `: ${describeAllMissing(missing)}`
  return new SourceError(reason, `${what} answered ${status}${redirectOf(status, headers)}${names}`, {
    retryAfterMs: waitOf(headers),
    missing: missing.length === 0 ? undefined : missing,
  })
}

type StatusErrorOptions = { reason?: SourceReason | undefined; missing?: readonly MissingSource[] }

/** Without path and query, which may hold anything. Redirects are not followed. */
function redirectOf(status: number, { location }: IncomingHttpHeaders): string {
  const origin = status >= 300 && status < 400 ? URL.parse(location ?? '')?.origin : undefined
  return origin === undefined || origin === 'null'
    ? ''
    : ` and redirects to ${origin}, which is not followed; use that URL`
}

function reasonOfStatus(status: number): SourceReason {
  if (status === 401 || status === 403) return 'unauthorized'
  return status === 429 ? 'rate_limited' : `http_${status}`
}

export const MAX_RETRY_AFTER_MS = 15 * 60_000

function waitOf(headers: IncomingHttpHeaders): number | null {
  const ms = parseRetryAfter(headers['retry-after'], Date.now())
  return ms === null ? null : Math.min(ms, MAX_RETRY_AFTER_MS)
}

function reasonOf(code: string): SourceReason {
  return REASONS_BY_CODE.find(([pattern]) => pattern.test(code))?.[1] ?? 'connection_reset'
}

const REASONS_BY_CODE: readonly (readonly [RegExp, SourceReason])[] = [
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'connection_refused'],
  [/TIMEOUT$|^ETIMEDOUT$/, 'timeout'],
  [/^(ENOTFOUND|ENODATA|ESERVFAIL|EAI_.*)$/, 'dns'],
  [/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)/, 'tls'],
  [/OVERFLOW$|^ERR_BUFFER_TOO_LARGE$/, 'too_large'],
  [/^HPE_INVALID_EOF_STATE$/, 'connection_reset'],
  // The peer does not speak HTTP.
  [/^HPE_/, 'bad_envelope'],
  // The body contradicts its Content-Encoding.
  [/^(Z_|ERR__|ERR_BROTLI|ERR_PADDING)/, 'not_json'],
]
