import type { ApiKey } from '../domain/api-key.ts'
import { type ListingFields, type ListingStatus, NEW_LISTING_FIELDS } from '../domain/listing.ts'
import type { Micros } from '../domain/timestamp.ts'
import { fieldText, identityText, keyOf, SEPARATOR } from './redis-rows.ts'
import { script } from './redis-script.ts'
import type { RedisSession } from './redis-session.ts'
import type {
  NewKey,
  PublishCommand,
  PublishOutcome,
  RemoveCommand,
  RemoveOutcome,
  UpdateCommand,
  UpdateOutcome,
} from './store.ts'

const SCRIPTS = {
  publish: script('publish'),
  update: script('update'),
  remove: script('remove'),
  addKey: script('add-key'),
  revokeKey: script('revoke-key'),
}

/** Stands for what the command does not say. No word and no JSON text is empty. */
const KEEP = ''

/** In the order of a listing's row. */
const FIELDS = [
  'offerResource',
  'acceptedEscrows',
  'demands',
  'maxDurationSeconds',
  'oracleAddress',
] as const satisfies (keyof ListingFields)[]

export const publish = async (session: RedisSession, command: PublishCommand): Promise<PublishOutcome> => {
  const { identity, listingId, storefrontUrl, fields, status, use } = command
  const { publishers, publisherIds, listings, created, log } = session.keys
  const answer = await session.ask(
    SCRIPTS.publish,
    [publishers, publisherIds, listings, created, log, session.keys.use(use.signature)],
    [
      identityText(identity),
      listingId,
      JSON.stringify(storefrontUrl),
      status ?? KEEP,
      use.body,
      millis(use.expiresAt),
      session.changelogLength,
      ...FIELDS.map((field) => textOrKeep(fields[field])),
      ...FIELDS.map((field) => NEW_LISTING_FIELDS[field]),
    ],
  )
  const [outcome, publisherId, given, createdAt, updatedAt] = String(answer).split(SEPARATOR)
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

export const update = async (session: RedisSession, command: UpdateCommand): Promise<UpdateOutcome> => {
  const { identity, listingId, status, oracleAddress, use } = command
  const { publisherIds, listings, log } = session.keys
  const answer = await session.ask(
    SCRIPTS.update,
    [publisherIds, listings, log, session.keys.use(use.signature)],
    [
      identityText(identity),
      listingId,
      status ?? KEEP,
      textOrKeep(oracleAddress),
      use.body,
      millis(use.expiresAt),
      session.changelogLength,
    ],
  )
  const [outcome, given, updatedAt] = String(answer).split(SEPARATOR)
  if (outcome !== 'updated') return { outcome } as UpdateOutcome
  return { outcome, record: { listingId, status: given as ListingStatus, updatedAt: Number(updatedAt) } }
}

export const remove = async (session: RedisSession, command: RemoveCommand): Promise<RemoveOutcome> => {
  const { identity, listingId, use } = command
  const { publisherIds, listings, created, log } = session.keys
  const answer = await session.ask(
    SCRIPTS.remove,
    [publisherIds, listings, created, log, session.keys.use(use.signature)],
    [identityText(identity), listingId, use.body, millis(use.expiresAt), session.changelogLength],
  )
  return { outcome: answer } as RemoveOutcome
}

export const addKey = async (session: RedisSession, key: NewKey): Promise<ApiKey> =>
  (await insertKey(session, key, ALWAYS))!

export const seedKey = (session: RedisSession, key: NewKey): Promise<ApiKey | null> =>
  insertKey(session, key, ONLY_FIRST)

export const revokeKey = async (session: RedisSession, id: number): Promise<ApiKey | null> => {
  const { apiKeys, log } = session.keys
  const row = await session.ask(SCRIPTS.revokeKey, [apiKeys, log], [id, session.changelogLength])
  return row === null ? null : keyOf(String(id), String(row))
}

const ALWAYS = '0'
const ONLY_FIRST = '1'

const insertKey = async (
  session: RedisSession,
  { name, scope, hash }: NewKey,
  when: string,
): Promise<ApiKey | null> => {
  const { apiKeys, log } = session.keys
  const given = [when, JSON.stringify(name), scope, JSON.stringify(hash), session.changelogLength]
  const added = await session.ask(SCRIPTS.addKey, [apiKeys, log], given)
  return Array.isArray(added) ? keyOf(added[0], added[1]) : null
}

const textOrKeep = (json: string | undefined): string => (json === undefined ? KEEP : fieldText(json))

const millis = (at: Micros): number => Math.ceil(at / 1000)
