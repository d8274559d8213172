import { hash } from 'node:crypto'
import { USE_SECONDS } from '../../domain/listing.ts'
import { EntrepotError } from '../../errors.ts'
import { replayHash, type SignedRequest } from '../../signing/exchange.ts'
import { frame } from '../../signing/frame.ts'
import type { Principal } from '../../signing/principal.ts'
import type { RecordedAnswer, WriteRequest } from '../../store/commands.ts'
import type { Store } from '../../store/store.ts'

/** Who writes on the signed line, and the record of the request in the replay guard. */
export type SignedWriter = { identity: Principal; use: WriteRequest }

export type WriteRecords = { store: Pick<Store, 'reserve' | 'settle'>; nowSeconds: () => number }

type Begun = { writer: SignedWriter; recorded: RecordedAnswer | null }

/**
 * Begins a write of the signed line, before anything else is done.
 * @returns `recorded`: the answer of an earlier try
 * @throws EntrepotError `conflict`: the id is another request's, or another try has it
 */
export async function beginWrite(
  request: SignedRequest,
  { store, nowSeconds }: WriteRecords,
): Promise<Begun> {
  const { principal, timestamp, exchange } = request
  const names = [principal.scheme, principal.identifier, exchange.requestId]
  const use: WriteRequest = {
    requestKey: `request:${hash('sha256', frame(names))}`,
    hash: replayHash(request),
    expiresAt: (timestamp + USE_SECONDS) * MICROS_PER_SECOND,
    now: nowSeconds() * MICROS_PER_SECOND,
  }
  const reservation = await store.reserve(use)
  const writer = { identity: principal, use }
  if (reservation.outcome === 'answered') return { writer, recorded: reservation.answer }
  if (reservation.outcome === 'reserved') return { writer, recorded: null }
  throw conflict(reservation.outcome === 'in_progress' ? 'request_in_progress' : 'changed_reuse')
}

/** Ends it: what did not fail stays its answer. Anything else may be tried again at once. */
export async function endWrite(
  { use }: SignedWriter,
  answer: RecordedAnswer,
  { store }: WriteRecords,
): Promise<void> {
  const isFinal = answer.status < 500 && answer.status !== 429
  try {
    await store.settle(use, isFinal ? answer : null)
  } catch {
    // The mutation has its receipt: the next try waits for the lease, and then gets the same.
  }
}

const MICROS_PER_SECOND = 1_000_000

export const conflict = (detail: string): EntrepotError => new EntrepotError('conflict', detail)
