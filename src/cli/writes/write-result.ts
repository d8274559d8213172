import { type ListingWrite, notReceipt } from '../../client/signed-write.ts'
import { traitsOf } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { type JsonObject, textAt } from '../../json/value.ts'
import { ANSWERS_SIGNED, refusesUnsigned } from '../../signing/question.ts'
import { EXIT, type ExitCode, exitCodeOfStatus } from '../exit-codes.ts'
import {
  type ApiResponse,
  describeClockDifference,
  describeErrorResponse,
  describeSourceError,
  isUnauthorized,
  readJsonObject,
} from '../registries/registry-client.ts'
import { keyHint, pinHint, type Registry } from '../registries/select-registries.ts'

type WriteAction = 'publish' | 'update' | 'close' | 'delete'

/** Past participles. */
export const DONE: Readonly<Record<WriteAction, string>> = {
  publish: 'published',
  update: 'updated',
  close: 'closed',
  delete: 'deleted',
}

export type WriteResult = {
  registry: string
  listing_id: string
  action: WriteAction
  /**
   * `unknown`: the answer was lost, so the write may have been applied. `invalid_answer`: a success that is not
   * a Registry's. `not_sent`: after the deadline, an interrupt or too many failures.
   */
  outcome: 'accepted' | 'refused' | 'unknown' | 'no_answer' | 'invalid_answer' | 'not_sent'
  /** `null` without an answer. */
  status: number | null
  error?: string
  answer?: JsonObject
}

export type Write = ListingWrite & {
  action: WriteAction
  /** Whether a refusal proves that an earlier attempt, whose answer was lost, succeeded. */
  provesSuccess?: (response: ApiResponse) => boolean
}

/** The attempts of one write. */
export type Attempts = {
  /** Of the last one; `null` if none was sent. */
  outcome: ApiResponse | SourceError | null
  /** Whether an attempt without an answer may have been applied. */
  mayBeApplied: boolean
  /** Why there is no further attempt. */
  note?: string | undefined
}

export function judgeWrite(
  { outcome, mayBeApplied, note }: Attempts,
  write: Write,
  registry: Registry,
  signer: string,
): WriteResult {
  const { listingId, action } = write
  const subject = { registry: registry.url, listing_id: listingId, action }
  const failed = (as: WriteResult['outcome'], status: number | null, error: string): WriteResult => ({
    ...subject,
    outcome: as,
    status,
    error: [error, note].filter((part) => part !== undefined).join('; '),
  })
  const lost = (status: number | null, error: string): WriteResult =>
    failed('unknown', status, `${firstSentence(error)}; it may have been ${DONE[action]}: ${SAFE_TO_REPEAT}`)
  if (outcome === null) return mayBeApplied ? lost(null, 'no answer') : failed('not_sent', null, 'not sent')
  if (outcome instanceof SourceError) {
    const error = describeSourceError(outcome)
    return mayBeApplied ? lost(null, error) : failed('no_answer', null, error)
  }
  const { status } = outcome
  if (write.isReceipt(outcome))
    return { ...subject, outcome: 'accepted', status, answer: readJsonObject(outcome) }
  if (mayBeApplied && write.provesSuccess?.(outcome))
    return { ...subject, outcome: 'accepted', status: 204, answer: {} }
  if (status < 300) return failed('invalid_answer', status, notReceipt(outcome, write))
  if (status === 429 && note === INTERRUPTED)
    return { ...subject, outcome: 'refused', status, error: `not ${DONE[action]} (${LIMITED_UNTIL})` }
  const error = describeErrorResponse(outcome) + hint(outcome, registry, signer)
  return isInProgress(outcome) || (mayBeApplied && (status >= 500 || status === 429))
    ? lost(status, error)
    : failed('refused', status, error)
}

/** The note of writes that an interrupt has ended. */
export const INTERRUPTED = 'interrupted'
const LIMITED_UNTIL = 'interrupted while it waited for the rate limit'
const SAFE_TO_REPEAT = 'run the same command again, that is safe'

/** A Registry's own advice about the repetition follows in its others. */
const firstSentence = (text: string): string => text.split(/\.(?:\s|$)/, 1)[0]!

const ABOUT_KEY = /API key/i

function hint(response: ApiResponse, registry: Registry, signer: string): string {
  const detail = textAt(readJsonObject(response), 'detail') ?? ''
  if (refusesUnsigned(response)) return `; it ${ANSWERS_SIGNED}: ${pinHint(registry)}`
  if (/timestamp/i.test(detail)) return describeClockDifference(response)
  const isForeign = /does not own|owned by another/.test(detail)
  if (isForeign || (/signature/i.test(detail) && response.status === 401))
    return `; it is signed by ${signer}: is that the listing's publisher?`
  if (!isUnauthorized(response) || !ABOUT_KEY.test(detail)) return ''
  return `; ${keyHint(registry)}`
}

/** Whether an earlier attempt of the same request has not ended at a Registry of the signed line. */
export const isInProgress = (outcome: ApiResponse | SourceError): boolean =>
  !(outcome instanceof SourceError) &&
  outcome.status === 409 &&
  textAt(readJsonObject(outcome), 'detail') === 'request_in_progress'

/** Whether the Registry may have the request: its answer was lost, not the connection refused. */
export function mayHaveArrived(outcome: ApiResponse | SourceError): boolean {
  // A proxy answers 502 and 504 where it lost the Registry's answer (RFC 9110 sections 15.6.3 and 15.6.5), a Registry 503
  // where its store did not answer in time.
  if (!(outcome instanceof SourceError)) return [502, 503, 504].includes(outcome.status)
  const { code } = (outcome.cause ?? {}) as NodeJS.ErrnoException
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return false
  return traitsOf(outcome.reason).mayArrive
}

/** Whether the next listing is likely to fail, too: not for a refusal that concerns this listing. */
export function isFailureOfRegistry({ outcome, status, action, error = '' }: WriteResult): boolean {
  if (outcome !== 'refused' || status === null) return outcome !== 'accepted'
  if (status === 403) return ABOUT_KEY.test(error)
  if (status === 404) return action === 'publish'
  return exitCodeOfStatus(status) !== EXIT.badData
}

export const exitCodeOfWrite = ({ outcome, status }: WriteResult): ExitCode => {
  if (outcome === 'accepted') return EXIT.ok
  return outcome === 'refused' && status !== null ? exitCodeOfStatus(status) : EXIT.noAnswer
}
