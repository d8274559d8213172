import { safeText } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source-error.ts'
import { isJsonObject, type JsonObject } from '../../json/value.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfStatus } from '../exit-codes.ts'
import {
  type ApiResponse,
  describeErrorResponse,
  describeViolation,
  readJsonObject,
} from '../registries/registry-client.ts'
import { printData, printStatus, type Terminal } from './terminal.ts'

export type WriteResult = {
  registry: string
  listing_id: string
  outcome: 'accepted' | 'refused' | 'no_answer'
  /** `null` without an answer. */
  status: number | null
  error?: string
  answer?: JsonObject
}

type Subject = Pick<WriteResult, 'registry' | 'listing_id'>

export const toWriteResult = (subject: Subject, response: ApiResponse): WriteResult =>
  response.status < 300
    ? { ...subject, outcome: 'accepted', status: response.status, answer: readJsonObject(response) }
    : { ...subject, outcome: 'refused', status: response.status, error: describeErrorResponse(response) }

/** @throws `cause` unless it is a SourceError: an error of this program is not a result */
export function toFailedWrite(subject: Subject, cause: unknown): WriteResult {
  if (!(cause instanceof SourceError)) throw cause
  const error = `${cause.reason}: ${cause.message}`
  return { ...subject, outcome: 'no_answer', status: null, error }
}

export async function printWriteResults(
  terminal: Terminal,
  results: readonly WriteResult[],
  { verb, json }: { verb: string; json: boolean | undefined },
): Promise<ExitCode> {
  await printData(terminal, json, results, () => results.map((result) => line(result, verb)).join(''))
  for (const { registry, listing_id, error } of results)
    if (error !== undefined) printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${error}`)
  for (const { registry, listing_id, answer } of results)
    for (const warning of warningsOf(answer))
      printStatus(terminal, `[registry] ${registry}: ${listing_id}: accepted, but ${warning}`)
  return combineExitCodes(results.map(exitCodeOf), EXIT.failure)
}

function warningsOf(answer: JsonObject | undefined): string[] {
  const warnings = answer?.warnings
  return Array.isArray(warnings) ? warnings.filter(isJsonObject).map(describeViolation) : []
}

const line = ({ registry, listing_id, outcome, error }: WriteResult, verb: string): string =>
  safeText(`${registry}  ${listing_id}  ${outcome === 'accepted' ? verb : `failed: ${error}`}`).concat('\n')

const exitCodeOf = ({ status }: WriteResult): ExitCode =>
  status === null ? EXIT.noAnswer : exitCodeOfStatus(status)
