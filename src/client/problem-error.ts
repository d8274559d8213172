import { isJsonObject, type JsonValue, listAt, numberAt, parseObject, textAt } from '../json/value.ts'
import { describeMissing } from '../wire/describe-missing.ts'
import type { SourceReport, SourcesCounted } from '../wire/source.ts'

type Problem = {
  detail: string
  /** Default: `about:blank`, of an answer that is not a problem, or of none. */
  type?: string
  title?: string
  /** What is wrong with a request, and where. */
  errors?: readonly { path: string; message: string }[]
  /** Of a gateway. */
  sources?: readonly SourceReport[]
  sourcesCounted?: SourcesCounted | undefined
  /** Seconds. */
  retryAfter?: number | null
}

/** A problem (RFC 9457), an answer that is not a Registry's, or none. Its message is the problem's `detail`. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  /** 0 without an answer. Then, and from 500 on, a write may have been applied, and can be repeated. */
  readonly status: number
  /** `urn:entrepot:problem:` and a code. */
  readonly type: string
  readonly title: string
  readonly detail: string
  readonly errors: readonly { path: string; message: string }[]
  /** Empty if the problem is not about sources. */
  readonly sources: readonly SourceReport[]
  /** Of many sources, those that `sources` does not name. */
  readonly sourcesCounted: SourcesCounted | undefined
  /** Seconds; `null` where the answer names none. */
  readonly retryAfter: number | null

  constructor(status: number, problem: Problem, options?: ErrorOptions) {
    super(problem.detail, options)
    this.status = status
    this.type = problem.type ?? 'about:blank'
    this.title = problem.title ?? ''
    this.detail = problem.detail
    this.errors = problem.errors ?? []
    this.sources = problem.sources ?? []
    this.sourcesCounted = problem.sourcesCounted
    this.retryAfter = problem.retryAfter ?? null
  }
}

/** The members of a problem; of any other body, such as an error page of a proxy, a default. */
export function readProblem(bytes: Uint8Array): Problem {
  const body = parseObject(new TextDecoder().decode(bytes))
  return {
    detail: textAt(body, 'detail') ?? 'The gateway gave no reason.',
    type: textAt(body, 'type') ?? 'about:blank',
    title: textAt(body, 'title') ?? '',
    errors: listAt(body, 'errors').filter(isJsonObject).map(readViolation),
    sources: readReports(body),
    sourcesCounted: readCounted(body),
  }
}

const readViolation = (entry: JsonValue) => ({
  path: textAt(entry, 'path') ?? '',
  message: textAt(entry, 'message') ?? '',
})

/** How each source of a gateway answered. */
export const readReports = (body: JsonValue): SourceReport[] => listAt(body, 'sources').map(readReport)

/** Of many sources, those that the answer does not name. */
export function readCounted(body: JsonValue): SourcesCounted | undefined {
  const loaded = numberAt(body, 'sources_counted', 'loaded')
  return loaded === null
    ? undefined
    : { loaded, age_seconds: numberAt(body, 'sources_counted', 'age_seconds') ?? undefined }
}

const readReport = (entry: JsonValue): SourceReport => ({
  registry: textAt(entry, 'registry') ?? '?',
  ...(textAt(entry, 'mode') === 'local' && { mode: 'local' }),
  state: STATES.find((state) => state === textAt(entry, 'state')) ?? 'unavailable',
  reason: textAt(entry, 'reason') ?? undefined,
  filters: listAt(entry, 'filters').map(String),
  matched: numberAt(entry, 'matched'),
  held: numberAt(entry, 'held') ?? undefined,
  of: numberAt(entry, 'of') ?? undefined,
  age_seconds: numberAt(entry, 'age_seconds') ?? undefined,
  invalid: numberAt(entry, 'invalid') ?? undefined,
})

const STATES = ['loaded', 'stale', 'loading', 'partial', 'unavailable', 'not_yet_loaded', 'skipped'] as const

/** A walk came to its end, but sources are missing, or listings between its pages: there may be more. */
export class IncompleteError extends Error {
  override readonly name = 'IncompleteError'
  /** How each source answered the first page that was not complete; empty at a plain Registry. */
  readonly sources: readonly SourceReport[]

  constructor(sources: readonly SourceReport[]) {
    const missing = sources.flatMap((source) => describeMissing(source) ?? [])
    super(
      `The listings are not complete: ${missing.join('; ') || 'a source is missing, or listings between two pages'}`,
    )
    this.sources = sources
  }
}
