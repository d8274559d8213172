import { z } from 'zod'
import { type ApiKey, describeKey, type KeyUse, keyOf, opensGates } from '../../domain/api-key.ts'
import type { Clock } from '../../domain/clock.ts'
import { suggestName } from '../../domain/nearest-name.ts'
import { formatTimestamp, type Micros } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { ApiKeys } from '../../registry/api-keys.ts'
import { invalid, invalidBody } from '../../registry/errors.ts'
import type { KeyUsage } from '../../registry/key-usage.ts'
import {
  type ApiKeyJson,
  apiKeySchema,
  type MintedKeyJson,
  mintedKeySchema,
  mintRequestSchema,
  rotatedKeySchema,
  rotateRequestSchema,
  scopeOrRole,
} from '../../wire/api-key.ts'
import { objectBody } from '../middleware/body.ts'
import { readIntegerParameter } from '../parameters.ts'
import { integerParameter, json, NO_STORE, type Route } from '../route.ts'

export type ApiKeyOptions = {
  keys: ApiKeys
  keyUsage: KeyUsage
  clock: Clock
  /** Whether a key that opens gates keeps the service from its next start. */
  keysEndStart?: boolean
  /** Names of views that a key can have. */
  views: readonly string[]
}

export const apiKeyRoutes = (options: ApiKeyOptions): Route[] => [
  mintRoute(options),
  rotateRoute(options),
  listRoute(options),
  revokeRoute(options),
]

const mintRoute = ({ keys, clock, views, keysEndStart = false }: ApiKeyOptions): Route => ({
  method: 'POST',
  path: '/admin/api-keys',
  gate: 'admin',
  act: 'key.mint',
  summary: 'Mint an API key',
  description:
    'A read key opens the read routes, a write key the write routes as well. A key with a role in place of a scope opens ' +
    '`GET /metrics` only, or what `REGISTRY_ADMIN_API_KEY` opens, but mints no admin keys. Only this response has the raw key.',
  body: mintRequestSchema,
  responses: { 201: { description: 'The key', schema: mintedKeySchema } },
  problems: [403],
  handle: async (request) => {
    const parsed = mintRequestSchema.safeParse(objectBody(request).value)
    if (!parsed.success) throw invalidBody(parsed.error)
    const { name, role, expires_in_days: days = null, view = null } = parsed.data
    const scope = role ?? parsed.data.scope ?? 'read'
    request.note({ subject: `${name.trim()} (${scope})` })
    if (scope === 'admin' && keyOf(request.caller) !== null)
      throw new EntrepotError('forbidden', NO_ADMIN_KEYS)
    if (view !== null && !views.includes(view)) throw unknownView(view, views)
    const expiresAt = days === null ? null : (clock.now() + days * MS_PER_DAY) * 1000
    const { key, raw } = await keys.mint({ name: name.trim(), scope, expiresAt, view })
    request.note({
      subject: describeKey(key),
      minted: { id: key.id, name: key.name, ...scopeOrRole(key) },
    })
    const minted: MintedKeyJson = { ...common(key), key: raw }
    const warning = keysEndStart && opensGates(key) ? { Warning: `299 - "${ENDS_START}"` } : {}
    return { ...json(minted, 201), headers: { ...NO_STORE, ...warning } }
  },
})

const rotateRoute = ({ keys, clock }: ApiKeyOptions): Route => ({
  method: 'POST',
  path: '/admin/api-keys/rotate',
  gate: 'admin',
  act: 'key.rotate',
  summary: 'Mint a key that replaces another',
  description:
    'The new key has the name, the scope or role, the view and the lifetime of the only active key of that name, which expires after ' +
    'the overlap. Only this response has the raw key.',
  body: rotateRequestSchema,
  responses: { 201: { description: 'The new key', schema: rotatedKeySchema } },
  problems: [403, 404, 409],
  handle: async (request) => {
    const parsed = rotateRequestSchema.safeParse(objectBody(request).value)
    if (!parsed.success) throw invalidBody(parsed.error)
    const { name, overlap_seconds: overlapSeconds } = parsed.data
    request.note({ subject: name })
    const now = clock.now() * 1000
    if (keys.active(name, now).scope === 'admin' && keyOf(request.caller) !== null)
      throw new EntrepotError('forbidden', NO_ADMIN_KEYS)
    const { key, raw, replaced } = await keys.rotate(name, { overlapSeconds, now })
    request.note({
      subject: describeKey(key),
      minted: { id: key.id, name: key.name, ...scopeOrRole(key) },
    })
    const replaces = { id: replaced.id, expires_at: formatTimestamp(replaced.expiresAt!) }
    return { ...json({ ...common(key), key: raw, replaces }, 201), headers: NO_STORE }
  },
})

const listRoute = ({ keys, keyUsage }: ApiKeyOptions): Route => ({
  method: 'GET',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'List the API keys',
  description: 'Newest first, revoked keys included. Raw keys are not shown.',
  responses: { 200: { description: 'The keys without their raw texts', schema: z.array(apiKeySchema) } },
  handle: async () => {
    const uses = await keyUsage.read()
    return {
      ...json(
        keys.list().map((key) => ({
          ...toJson(key, uses.get(key.id)),
          ...(keys.isDeclared(key) && { declared: true }),
        })),
      ),
      headers: NO_STORE,
    }
  },
})

const revokeRoute = ({ keys }: ApiKeyOptions): Route => ({
  method: 'DELETE',
  path: '/admin/api-keys/:key_id',
  gate: 'admin',
  act: 'key.revoke',
  summary: 'Revoke an API key',
  description: 'Revoking a revoked key succeeds and changes nothing.',
  parameters: [KEY_ID],
  responses: { 204: { description: 'Revoked' } },
  problems: [404, 409, 422],
  handle: async ({ params, note }) => {
    const id = readIntegerParameter(KEY_ID, params.key_id)!
    const key = keys.list().find((one) => one.id === id)
    if (key !== undefined) note({ subject: describeKey(key) })
    if (await keys.revoke(id)) return { status: 204 }
    throw new EntrepotError('not_found', `API key ${id} not found`)
  },
})

const ENDS_START =
  'No gate asks for a key, and the next start ends with 78 while the store has one: set REGISTRY_REQUIRE_READ_API_KEY or ' +
  'REGISTRY_REQUIRE_WRITE_API_KEY to true, or both to false'

const NO_ADMIN_KEYS =
  'An admin key mints no admin keys: use REGISTRY_ADMIN_API_KEY, or entrepot keys mint --store beside the store'

const unknownView = (view: string, views: readonly string[]): EntrepotError =>
  invalid([
    {
      path: 'body.view',
      message: `there is no view ${JSON.stringify(view)}${suggestName(view, views)}; known are ${views.join(', ')}`,
    },
  ])

const MS_PER_DAY = 86_400_000

const KEY_ID = integerParameter('path', 'key_id', 'The numeric id')

const toJson = (key: ApiKey, use: KeyUse | undefined): ApiKeyJson => ({
  ...common(key),
  revoked_at: timeOrNull(key.revokedAt),
  last_used_at: timeOrNull(use?.lastUsedAt ?? null),
  calls: use?.calls ?? 0,
})

const common = ({ id, name, scope, createdAt, expiresAt, view }: ApiKey) => ({
  id,
  name,
  ...scopeOrRole({ scope }),
  created_at: formatTimestamp(createdAt),
  expires_at: timeOrNull(expiresAt),
  ...(view !== null && { view }),
})

const timeOrNull = (at: Micros | null): string | null => (at === null ? null : formatTimestamp(at))
