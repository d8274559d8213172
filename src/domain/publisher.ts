import type { Micros } from './timestamp.ts'

/** A principal of the signed line, or the wallet of a seller of the plain one, which is an `eip191` principal. */
export type PublisherIdentity = { scheme: string; identifier: string }

export type Publisher = PublisherIdentity & {
  publisherId: number
  storefrontUrl: string | null
  createdAt: Micros
  updatedAt: Micros
  /** Oldest first: each replaced the identity of the time. The identity of the publisher itself is the primary one. */
  rotations: readonly Rotation[]
}

/** A change of a publisher's identity, as both identities have signed it, and what has come of it. */
export type Rotation = {
  nonce: string
  current: PublisherIdentity
  replacement: PublisherIdentity
  /** For so long after `appliedAt` the replaced identity stays good. */
  overlapSeconds: number
  /** Unix seconds. */
  expiresAt: number
  appliedAt: Micros
  /** The replacement ended the overlap, or there was none; `null`: it ends by itself. */
  retiredAt: Micros | null
}

export type RotationIntent = Omit<Rotation, 'appliedAt' | 'retiredAt'>

/** Each is part of the publisher in memory of every replica. */
export const MAX_ROTATIONS = 32

const isSameIdentity = (one: PublisherIdentity, other: PublisherIdentity): boolean =>
  one.scheme === other.scheme && one.identifier === other.identifier

const MICROS_PER_SECOND = 1_000_000

export const retireAt = ({ appliedAt, overlapSeconds }: Rotation): Micros =>
  appliedAt + overlapSeconds * MICROS_PER_SECOND

/** From when on the replaced identity is refused. */
export const activeUntil = (rotation: Rotation): Micros => rotation.retiredAt ?? retireAt(rotation)

export const isRetired = (rotation: Rotation, now: Micros): boolean => activeUntil(rotation) <= now

/** The primary one first, replaced ones included. */
export const identitiesOf = (publisher: Publisher): PublisherIdentity[] => [
  publisher,
  ...publisher.rotations.map(({ current }) => current),
]

/** The primary one first; at most two, since a rotation waits for the end of the overlap before. */
export function activeIdentities(publisher: Publisher, now: Micros): PublisherIdentity[] {
  const { scheme, identifier, rotations } = publisher
  const overlapping = rotations.filter((rotation) => !isRetired(rotation, now))
  return [{ scheme, identifier }, ...overlapping.map(({ current }) => current)]
}

/** Whether the identity may act for the publisher. */
export const isActive = (publisher: Publisher, identity: PublisherIdentity, now: Micros): boolean =>
  activeIdentities(publisher, now).some((one) => isSameIdentity(one, identity))

type Refusal<Reason extends string> = { outcome: Reason }
type Changed = { outcome: 'changed'; publisher: Publisher; rotation: Rotation }
type Recorded = { outcome: 'recorded'; rotation: Rotation }

export type RotationRefusal = 'nonce_mismatch' | 'overlap_active' | 'not_primary' | 'too_many_rotations'

/**
 * The publisher after the rotation, in the order of checks of the public implementation. Times are those of the clock that
 * accepted the request.
 */
export function rotated(
  publisher: Publisher,
  intent: RotationIntent,
  now: Micros,
): Changed | Recorded | Refusal<RotationRefusal> {
  const { rotations } = publisher
  const { nonce, current, replacement, overlapSeconds, expiresAt } = intent
  const earlier = rotations.find((rotation) => rotation.nonce === nonce)
  if (earlier !== undefined)
    return isSameIntent(earlier, intent)
      ? { outcome: 'recorded', rotation: earlier }
      : { outcome: 'nonce_mismatch' }
  if (rotations.some((rotation) => !isRetired(rotation, now))) return { outcome: 'overlap_active' }
  if (!isSameIdentity(publisher, current)) return { outcome: 'not_primary' }
  if (rotations.length >= MAX_ROTATIONS) return { outcome: 'too_many_rotations' }
  const asSigned = { nonce, current, replacement, overlapSeconds, expiresAt }
  const rotation = { ...asSigned, appliedAt: now, retiredAt: overlapSeconds === 0 ? now : null }
  const { scheme, identifier } = replacement
  const changed = { ...publisher, scheme, identifier, rotations: [...rotations, rotation] }
  return { outcome: 'changed', publisher: changed, rotation }
}

const isSameIntent = (one: RotationIntent, other: RotationIntent): boolean =>
  isSameIdentity(one.current, other.current) &&
  isSameIdentity(one.replacement, other.replacement) &&
  one.overlapSeconds === other.overlapSeconds &&
  one.expiresAt === other.expiresAt

export type RetirementRefusal = 'rotation_not_found' | 'not_replacement' | 'replaced_again'

/** The publisher after its replaced identity was retired before the end of the overlap. */
export function retired(
  publisher: Publisher,
  { nonce, identity }: { nonce: string; identity: PublisherIdentity },
  now: Micros,
): Changed | Recorded | Refusal<RetirementRefusal> {
  const { rotations } = publisher
  const rotation = rotations.find((one) => one.nonce === nonce)
  if (rotation === undefined) return { outcome: 'rotation_not_found' }
  if (!isSameIdentity(rotation.replacement, identity)) return { outcome: 'not_replacement' }
  if (!isSameIdentity(publisher, identity)) return { outcome: 'replaced_again' }
  if (rotation.retiredAt !== null) return { outcome: 'recorded', rotation }
  const ended = { ...rotation, retiredAt: now }
  const changed = { ...publisher, rotations: rotations.map((one) => (one === rotation ? ended : one)) }
  return { outcome: 'changed', publisher: changed, rotation: ended }
}
