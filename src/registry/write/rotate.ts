import { isRetired, type Rotation, retireAt } from '../../domain/publisher.ts'
import { formatTimestamp, type Micros } from '../../domain/timestamp.ts'
import { EntrepotError, type ErrorCode } from '../../errors.ts'
import type { JsonValue } from '../../json/value.ts'
import { isSamePrincipal } from '../../signing/principal.ts'
import { isProvenRotation, readRotation } from '../../signing/rotation.ts'
import type { RetireOutcome, RotateOutcome } from '../../store/commands.ts'
import type { Store } from '../../store/store.ts'
import { type LocalRules, refuseBlocked } from '../blocks.ts'
import type { Replica } from '../replica.ts'
import type { SignedWriter } from './signed-write.ts'

export type RotationContext = LocalRules & {
  store: Store
  replica: Replica
  /** The name of this Registry. */
  authority: string
  nowSeconds: () => number
}

const MAX_OVERLAP_SECONDS = 86_400

/** Gives a publisher another identity, in the order of checks and the words of the public implementation. */
export async function rotateIdentity(
  publisherId: number,
  body: JsonValue,
  { identity, use }: SignedWriter,
  { store, replica, authority, nowSeconds, ...local }: RotationContext,
): Promise<Rotation> {
  if (replica.projection.publisher(publisherId) === null) await replica.catchUp()
  if (replica.projection.publisher(publisherId) === null) throw refusal('publisher_not_found')
  const request = readRotation(body)
  if (request === null) throw new EntrepotError('bad_request', 'Malformed rotation request')
  const { intent } = request
  if (!isSamePrincipal(intent.current, identity))
    throw new EntrepotError('forbidden', 'Rotation caller is not current principal')
  if (intent.subject !== `publisher:${publisherId}` || intent.authority !== authority)
    throw new EntrepotError('bad_request', 'Rotation authority or subject mismatch')
  if (intent.overlapSeconds > MAX_OVERLAP_SECONDS)
    throw new EntrepotError('bad_request', 'Rotation overlap exceeds registry bound')
  if (!isProvenRotation(request, nowSeconds()))
    throw new EntrepotError('unauthorized', 'Invalid or expired rotation proofs')
  // Another identity would be the way out of a block.
  refuseBlocked(replica.projection, { identity, listingId: '', storefrontUrl: null }, local)
  return recorded(await store.rotate({ publisherId, intent, use }), replica)
}

/** Ends the overlap of a rotation, as only the new identity may. */
export async function retireIdentity(
  { publisherId, nonce }: { publisherId: number; nonce: string },
  { identity, use }: SignedWriter,
  { store, replica }: RotationContext,
): Promise<Rotation> {
  return recorded(await store.retire({ publisherId, nonce, identity, use }), replica)
}

/** @throws EntrepotError `not_found` */
export function findRotation(publisherId: number, nonce: string, { replica }: RotationContext): Rotation {
  const rotations = replica.projection.publisher(publisherId)?.rotations ?? []
  const rotation = rotations.find((one) => one.nonce === nonce)
  if (rotation === undefined) throw rotationNotFound()
  return rotation
}

export const rotationNotFound = (): EntrepotError => refusal('rotation_not_found')

export const rotationToJson = (publisherId: number, rotation: Rotation, now: Micros) => ({
  publisher_id: publisherId,
  nonce: rotation.nonce,
  current: rotation.current,
  replacement: rotation.replacement,
  overlap_seconds: rotation.overlapSeconds,
  expires_at: rotation.expiresAt,
  status: isRetired(rotation, now) ? 'retired' : 'overlap',
  applied_at: formatTimestamp(rotation.appliedAt),
  retire_at: formatTimestamp(retireAt(rotation)),
  retired_at: rotation.retiredAt === null ? null : formatTimestamp(rotation.retiredAt),
})

async function recorded(result: RotateOutcome | RetireOutcome, replica: Replica): Promise<Rotation> {
  if (result.outcome !== 'recorded') throw refusal(result.outcome)
  await replica.catchUp()
  return result.rotation
}

type Reason = Exclude<(RotateOutcome | RetireOutcome)['outcome'], 'recorded'>

const REFUSALS: Readonly<Record<Reason, readonly [ErrorCode, string]>> = {
  publisher_not_found: ['not_found', 'Publisher not found'],
  rotation_not_found: ['not_found', 'Publisher rotation not found'],
  nonce_mismatch: ['conflict', 'Rotation nonce intent mismatch'],
  overlap_active: ['conflict', 'Publisher already has an active identity overlap'],
  not_primary: ['forbidden', 'Current principal is not primary'],
  bound: ['conflict', 'Replacement principal is already bound'],
  too_many_rotations: ['conflict', 'Publisher has too many rotations'],
  replaced_again: ['forbidden', 'Replacement principal is not primary'],
  not_replacement: ['forbidden', 'Only replacement principal may retire'],
}

function refusal(reason: Reason): EntrepotError {
  const [code, detail] = REFUSALS[reason]
  return new EntrepotError(code, detail)
}
