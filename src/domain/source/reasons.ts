/** Why a source is missing from an answer. `not_yet_loaded` is shown as a state, the others as a `reason`. */
export type SourceReason = keyof typeof REASONS | `http_${number}`

/** What a reason means to each part that meets it. */
export type Traits = {
  /** Words for readers that follow "it". */
  words: string
  /** The state of the source in answers. */
  state: 'unavailable' | 'skipped' | 'not_yet_loaded'
  /**
   * The `upstream` failed, which its circuit breaker counts; it works but cannot answer the `question`; it refused our
   * `credential`; or the `client`, which is this process, may not ask, or not now.
   */
  fault: 'upstream' | 'question' | 'credential' | 'client'
  /** `writes`: a lost write is sent again, a read is not. */
  retry: 'never' | 'writes' | 'always'
  /** Whether the upstream may have received the request. */
  mayArrive: boolean
  /** Whether any other request would fail now as this one did. */
  isOutage: boolean
  /** Whether one listing may be the cause: of `any` page, or only of a `small` one. */
  splitsPage: 'never' | 'small' | 'any'
}

const ANSWERED = { retry: 'never', mayArrive: true, isOutage: false, splitsPage: 'never' } as const

const UNANSWERED = {
  state: 'unavailable',
  fault: 'upstream',
  isOutage: true,
  splitsPage: 'never',
} as const
const BAD_ANSWER = {
  state: 'unavailable',
  fault: 'upstream',
  retry: 'never',
  mayArrive: true,
  isOutage: false,
} as const
const SKIPPED = { ...ANSWERED, state: 'skipped', fault: 'question' } as const
const REFUSAL = { ...ANSWERED, state: 'unavailable', fault: 'credential' } as const
const NOT_ALLOWED = { ...ANSWERED, state: 'unavailable', fault: 'client' } as const

const REASONS = {
  timeout: { ...UNANSWERED, retry: 'writes', mayArrive: true, words: 'did not answer in time' },
  connection_refused: { ...UNANSWERED, retry: 'always', mayArrive: false, words: 'refused the connection' },
  connection_reset: {
    ...UNANSWERED,
    retry: 'always',
    mayArrive: true,
    words: 'closed the connection early',
  },
  dns: { ...UNANSWERED, retry: 'writes', mayArrive: false, words: 'has a host name that does not resolve' },
  tls: { ...UNANSWERED, retry: 'never', mayArrive: false, words: 'has a certificate that is not trusted' },
  not_yet_loaded: {
    ...UNANSWERED,
    state: 'not_yet_loaded',
    retry: 'never',
    mayArrive: true,
    words: 'is not loaded yet',
  },
  not_json: {
    ...BAD_ANSWER,
    splitsPage: 'never',
    words: 'sent an answer that is not JSON',
  },
  bad_envelope: {
    ...BAD_ANSWER,
    splitsPage: 'small',
    words: 'sent an answer that is not a list of listings',
  },
  too_large: {
    ...BAD_ANSWER,
    splitsPage: 'any',
    words: 'sent an answer that is too large',
  },
  bad_signature: {
    ...BAD_ANSWER,
    splitsPage: 'never',
    words: 'sent an answer that its key has not signed',
  },
  unstable: {
    ...BAD_ANSWER,
    splitsPage: 'never',
    words: 'changes faster than it can be read, or sends fewer listings than its total',
  },
  publishers_unknown: {
    ...BAD_ANSWER,
    splitsPage: 'never',
    words: 'does not say who published some of its listings, and these are left out',
  },
  unsupported_filter: { ...SKIPPED, words: 'does not support a filter of the query' },
  schema_mismatch: { ...SKIPPED, words: 'serves listings of another schema' },
  open_only: { ...SKIPPED, words: 'lists its closed listings itself; only open ones are held here' },
  loop: { ...SKIPPED, words: 'would request this gateway in turn' },
  unauthorized: { ...REFUSAL, words: 'requires a valid API key' },
  signed_requests_required: { ...REFUSAL, words: 'requires signed requests' },
  rate_limited: { ...NOT_ALLOWED, words: 'limits the rate of requests' },
  budget_spent: { ...NOT_ALLOWED, words: 'would exceed the time limit of the query' },
  private_address: {
    ...NOT_ALLOWED,
    mayArrive: false,
    words: 'has a private address, which is not allowed',
  },
} as const satisfies Record<string, Traits>

/** Those that answers and their documents name, beside `http_` and a status. */
export const REASON_NAMES: readonly string[] = Object.keys(REASONS).filter(
  (name) => name !== 'not_yet_loaded',
)

export function traitsOf(reason: SourceReason): Traits {
  return isNamed(reason) ? REASONS[reason] : traitsOfStatus(Number(reason.slice('http_'.length)))
}

/** Whether the source refused what a request carried, or lacked: asking again does not help. */
export const isRefusal = (reason: unknown): boolean =>
  isSourceReason(reason) && traitsOf(reason).fault === 'credential'

/** Whether an upstream may report it as its `reason`. */
export function isSourceReason(value: unknown): value is SourceReason {
  return typeof value === 'string' && (REASON_NAMES.includes(value) || /^http_\d{3}$/.test(value))
}

function isNamed(reason: string): reason is keyof typeof REASONS {
  return Object.hasOwn(REASONS, reason)
}

function traitsOfStatus(status: number): Traits {
  const isClientError = status >= 400 && status < 500
  const isAboutQuestion = [400, 412, 508].includes(status)
  return {
    ...ANSWERED,
    words: `answered with status ${status}`,
    state: 'unavailable',
    fault: isAboutQuestion ? 'question' : isClientError ? 'client' : 'upstream',
    retry: [502, 503, 504].includes(status) ? 'always' : 'never',
    splitsPage: status === 500 ? 'any' : 'never',
  }
}
