import { parseJson, textAt } from '../../json/value.ts'
import type { SourceReport } from '../../wire/source.ts'
import { readReports } from './source-report.ts'

/** A problem (RFC 9457), or no answer. */
export class RequestError extends Error {
  /** 0 without an answer. */
  readonly status: number
  /** Empty if the problem is not about sources. */
  readonly sources: readonly SourceReport[]
  /** Seconds; `null` where the answer names none. */
  readonly retryAfter: number | null

  constructor(
    status: number,
    { detail, sources, retryAfter = Number.NaN }: GatewayProblem & { retryAfter?: number },
    options?: ErrorOptions,
  ) {
    super(detail, options)
    this.status = status
    this.sources = sources
    this.retryAfter = Number.isFinite(retryAfter) ? retryAfter : null
  }
}

type GatewayProblem = { detail: string; sources: readonly SourceReport[] }

/** Any body that is not a problem gets a default. */
export function readProblem(bytes: Uint8Array): GatewayProblem {
  try {
    const body = parseJson(new TextDecoder().decode(bytes))
    return { detail: textAt(body, 'detail') ?? NO_REASON, sources: readReports(body) }
  } catch {
    return { detail: NO_REASON, sources: [] } // an error page of a proxy
  }
}

const NO_REASON = 'The gateway gave no reason.'
