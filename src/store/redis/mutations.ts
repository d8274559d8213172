import type { ApiKey } from '../../domain/api-key.ts'
import {
  frameBytes,
  type ListingFields,
  type ListingStatus,
  MAX_LISTING_BYTES,
  NEW_LISTING_FIELDS,
} from '../../domain/listing.ts'
import type {
  Expected,
  NewKey,
  PublishCommand,
  PublishOutcome,
  RemoveCommand,
  RemoveOutcome,
  UpdateCommand,
  UpdateOutcome,
  UsedSignature,
  UseKey,
} from '../store.ts'
import { apiKeyFromRow, fieldText, identityText, SEPARATOR } from './rows.ts'
import { type RedisSession, type Script, script } from './session.ts'

const SCRIPTS = {
  publish: script('publish'),
  update: script('update'),
  remove: script('remove'),
  forgetUses: script('forget-uses'),
  countListings: script('count-listings'),
  addKey: script('add-key'),
  revokeKey: script('revoke-key'),
}

/** An absent value: no word and no JSON text is empty. */
const KEEP = ''

/** In the order of a listing's row. */
const FIELDS = [
  'offerResource',
  'acceptedEscrows',
  'demands',
  'maxDurationSeconds',
  'oracleAddress',
] as const satisfies (keyof ListingFields)[]

export async function publish(session: RedisSession, command: PublishCommand): Promise<PublishOutcome> {
  const { identity, listingId, storefrontUrl, fields, status, expected, maxListings, use } = command
  const { publishers, publisherIds, listings, created, listingCounts, log } = session.keys
  const answer = await runSigned(session, SCRIPTS.publish, use, {
    keys: [publishers, publisherIds, listings, created, listingCounts, log],
    given: [
      identityText(identity),
      listingId,
      JSON.stringify(storefrontUrl),
      status ?? KEEP,
      textOfExpected(expected),
      String(maxListings),
      String(frameBytes(listingId)),
      String(MAX_LISTING_BYTES),
      ...FIELDS.map((field) => textOrKeep(fields[field])),
      ...FIELDS.map((field) => NEW_LISTING_FIELDS[field]),
    ],
  })
  const [outcome, publisherId, given, createdAt, updatedAt] = answer.split(SEPARATOR)
  if (outcome !== 'published') return { outcome } as PublishOutcome
  const record = {
    listingId,
    publisherId: Number(publisherId),
    status: given as ListingStatus,
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
  }
  return { outcome, record }
}

export async function update(session: RedisSession, command: UpdateCommand): Promise<UpdateOutcome> {
  const { identity, listingId, status, oracleAddress, expected, use } = command
  const { publishers, publisherIds, listings, log } = session.keys
  const answer = await runSigned(session, SCRIPTS.update, use, {
    keys: [publishers, publisherIds, listings, log],
    given: [
      identityText(identity),
      listingId,
      status ?? KEEP,
      textOrKeep(oracleAddress),
      textOfExpected(expected),
      String(frameBytes(listingId)),
      String(MAX_LISTING_BYTES),
    ],
  })
  const [outcome, given, updatedAt] = answer.split(SEPARATOR)
  if (outcome !== 'updated') return { outcome } as UpdateOutcome
  return { outcome, record: { listingId, status: given as ListingStatus, updatedAt: Number(updatedAt) } }
}

export async function remove(session: RedisSession, command: RemoveCommand): Promise<RemoveOutcome> {
  const { identity, listingId, use } = command
  const { publisherIds, listings, created, listingCounts, log } = session.keys
  const outcome = await runSigned(session, SCRIPTS.remove, use, {
    keys: [publisherIds, listings, created, listingCounts, log],
    given: [identityText(identity), listingId],
  })
  return { outcome } as RemoveOutcome
}

export async function hasUse(
  session: RedisSession,
  { signature, operation, listingId }: UseKey,
): Promise<boolean> {
  const { client, keys } = session
  const field = [operation, listingId].join(SEPARATOR)
  return (await session.run(() => client.hexists(keys.use(signature), field))) === 1
}

export async function countListings(session: RedisSession): Promise<void> {
  const { listings, created, listingCounts } = session.keys
  await session.evalScript(SCRIPTS.countListings, [listings, created, listingCounts], [])
}

export const addKey = async (session: RedisSession, key: NewKey): Promise<ApiKey> =>
  (await insertKey(session, key, ALWAYS))!

export const seedKey = (session: RedisSession, key: NewKey): Promise<ApiKey | null> =>
  insertKey(session, key, ONLY_FIRST)

export async function revokeKey(session: RedisSession, id: number): Promise<ApiKey | null> {
  const { apiKeys, log } = session.keys
  const row = await session.evalScript(SCRIPTS.revokeKey, [apiKeys, log], [id, session.changelogLength])
  return row === null ? null : apiKeyFromRow(String(id), String(row))
}

const ALWAYS = '0'
const ONLY_FIRST = '1'

async function insertKey(
  session: RedisSession,
  { name, scope, hash }: NewKey,
  when: string,
): Promise<ApiKey | null> {
  const { apiKeys, log } = session.keys
  const given = [when, JSON.stringify(name), scope, JSON.stringify(hash), session.changelogLength]
  const added = await session.evalScript(SCRIPTS.addKey, [apiKeys, log], given)
  return Array.isArray(added) ? apiKeyFromRow(added[0], added[1]) : null
}

const textOrKeep = (json: string | undefined): string => (json === undefined ? KEEP : fieldText(json))

function textOfExpected(expected: Expected): string {
  return expected === null ? 'none' : String(expected ?? '')
}

/** Forgets expired uses apart from the mutation, which a Redis that is out of memory refuses. */
async function runSigned(
  session: RedisSession,
  mutation: Script,
  use: UsedSignature,
  { keys, given }: { keys: readonly string[]; given: readonly string[] },
): Promise<string> {
  const { signature, body, expiresAt } = use
  const { use: useOf, useExpiry, forgottenUse } = session.keys
  const [answer] = await Promise.all([
    session.evalScript(
      mutation,
      [useOf(signature), useExpiry, forgottenUse, ...keys],
      [signature, body, expiresAt, session.changelogLength, ...given],
    ),
    forgetExpired(session, use),
  ])
  return String(answer)
}

const MAX_FORGOTTEN_PER_WRITE = 100

async function forgetExpired(session: RedisSession, { now }: UsedSignature): Promise<void> {
  const { client, keys } = session
  const { useExpiry, forgottenUse } = keys
  try {
    const expired = await session.run(() =>
      client.zrangebyscore(useExpiry, '-inf', now, 'LIMIT', 0, MAX_FORGOTTEN_PER_WRITE),
    )
    if (expired.length > 0)
      await session.evalScript(
        SCRIPTS.forgetUses,
        [useExpiry, forgottenUse, ...expired.map(keys.use)],
        expired,
      )
  } catch {
    // The next mutation tries again.
  }
}
