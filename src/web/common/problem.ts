import { parseJson, textAt } from '../../json/value.ts'
import type { SourceReport } from '../../wire/source.ts'
import { readReports } from './source-report.ts'

export type Problem = {
  detail: string
  /** Empty if the problem is not about sources. */
  sources: readonly SourceReport[]
}

/** RFC 9457; any other body gets a default. */
export function readProblem(bytes: Uint8Array): Problem {
  try {
    const body = parseJson(new TextDecoder().decode(bytes))
    return { detail: textAt(body, 'detail') ?? UNKNOWN, sources: readReports(body) }
  } catch {
    return { detail: UNKNOWN, sources: [] } // an error page of a proxy in front
  }
}

const UNKNOWN = 'The gateway did not say what is wrong.'
