import { parseJson } from '../../domain/json.ts'
import { textAt } from '../../domain/json-at.ts'
import { readReports, type SourceReport } from './source-report.ts'

export type Problem = {
  /** A sentence. */
  detail: string
  /** Which sources were asked, and what became of them; none where the problem is not theirs. */
  sources: readonly SourceReport[]
}

/** What a problem body says (RFC 9457); something in any case. */
export const readProblem = (bytes: Uint8Array): Problem => {
  try {
    const body = parseJson(new TextDecoder().decode(bytes))
    return { detail: textAt(body, 'detail') ?? UNKNOWN, sources: readReports(body) }
  } catch {
    return { detail: UNKNOWN, sources: [] } // a proxy in front answers as it likes
  }
}

const UNKNOWN = 'The gateway did not say what is wrong.'
