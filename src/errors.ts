/** One thing that is wrong with an input: where (a dotted path, a variable or a parameter name) and what. */
export type Violation = { path: string; message: string }

/** Code → HTTP status. The only place where the two meet. */
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

type ErrorExtras = {
  cause?: unknown
  /** Everything that is wrong, when it is more than one thing. */
  errors?: readonly Violation[]
  /** Further members of the problem body (RFC 9457 section 3.2). */
  members?: Readonly<Record<string, unknown>>
  /** Response headers that belong to the answer, such as `Retry-After`. */
  headers?: Readonly<Record<string, string>>
}

/**
 * The one error family that is meant for a caller's eyes. `message` becomes the `detail` of the problem body,
 * so it says what was wrong, where, and what to do, and never holds a secret.
 */
export class EntrepotError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly errors: readonly Violation[]
  readonly members: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ErrorCode, detail: string, extras: ErrorExtras = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'EntrepotError'
    this.code = code
    this.status = STATUS[code]
    this.errors = extras.errors ?? []
    this.members = extras.members ?? {}
    this.headers = extras.headers ?? {}
  }
}

/** Configuration that cannot be run with: every problem at once. The process exits with 78 (EX_CONFIG). */
export class ConfigError extends Error {
  readonly problems: readonly Violation[]

  constructor(problems: readonly Violation[]) {
    super(problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}
