/** `path`: a dotted path, a variable or a parameter name. */
export type Violation = { path: string; message: string }

const STATUS = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  quota_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  signature_reused: 409,
  conflict: 409,
  gone: 410,
  filter_spec_mismatch: 412,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  source_incomplete: 502,
  unavailable: 503,
  timeout: 504,
  loop: 508,
} as const

export type ErrorCode = keyof typeof STATUS

/** Rates, numbers, sizes and queues. Metrics count what exceeds them. */
export const LIMITS = [
  'anonymous',
  'read_key',
  'publish',
  'principal',
  'signed_address',
  'publisher',
  'listings_per_publisher',
  'listing_bytes',
  'body_bytes',
  'header_bytes',
  'unsent_bytes',
  'watchers',
] as const

export type LimitName = (typeof LIMITS)[number]

type ErrorExtras = {
  /** Which one is exceeded. */
  limit?: LimitName | undefined
  cause?: unknown
  errors?: readonly Violation[]
  /** Further members of the problem body (RFC 9457 section 3.2). */
  members?: Readonly<Record<string, unknown>>
  headers?: Readonly<Record<string, string>>
  /** For the log, where the message has text of the client that is not in quotes. */
  logged?: string | undefined
}

/** Errors for callers: `message` becomes the problem body's `detail` and must not hold a secret. */
export class EntrepotError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly errors: readonly Violation[]
  readonly members: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly limit: LimitName | undefined
  readonly logged: string

  constructor(code: ErrorCode, detail: string, extras: ErrorExtras = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'EntrepotError'
    this.code = code
    this.status = STATUS[code]
    this.errors = extras.errors ?? []
    this.members = extras.members ?? {}
    this.headers = extras.headers ?? {}
    this.limit = extras.limit
    this.logged = extras.logged ?? detail
  }
}

/** `internal`: of a store, a row that cannot be read. */
export function damagedRow(what: string, key: string, cause?: unknown): EntrepotError {
  const message = `the store has a damaged row, ${what} ${JSON.stringify(key)}: restore a backup`
  return new EntrepotError('internal', message, { cause })
}

/** Unusable configuration, with every problem. The process exits with 78 (EX_CONFIG). */
export class ConfigError extends Error {
  readonly problems: readonly Violation[]

  constructor(problems: readonly Violation[]) {
    super(problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}
