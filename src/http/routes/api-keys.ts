import { z } from 'zod'
import type { ApiKey } from '../../domain/api-key.ts'
import { formatTimestamp } from '../../domain/timestamp.ts'
import { EntrepotError } from '../../errors.ts'
import type { ApiKeys } from '../../registry/api-keys.ts'
import { invalidBody } from '../../registry/errors.ts'
import {
  type ApiKeyJson,
  apiKeySchema,
  type MintedKeyJson,
  mintedKeySchema,
  mintRequestSchema,
} from '../../wire/api-key.ts'
import { objectBody } from '../middleware/body.ts'
import { readIntegerParameter } from '../parameters.ts'
import { type IntegerParameter, json, type Route } from '../route.ts'

export const apiKeyRoutes = (keys: ApiKeys): Route[] => [mintKey(keys), listKeys(keys), revokeKey(keys)]

/** Responses with a raw key must not be cached. */
const NO_STORE = { 'Cache-Control': 'no-store' }

const mintKey = (keys: ApiKeys): Route => ({
  method: 'POST',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'Mint an API key',
  description:
    'A read key opens the read routes, a write key the write routes as well. Only this response has the raw key.',
  body: mintRequestSchema,
  responses: { 201: { description: 'The key', schema: mintedKeySchema } },
  handle: async (request) => {
    const parsed = mintRequestSchema.safeParse(objectBody(request).value)
    if (!parsed.success) throw invalidBody(parsed.error)
    const { key, raw } = await keys.mint(parsed.data.name.trim(), parsed.data.scope)
    const { id, name, scope, createdAt } = key
    const minted: MintedKeyJson = { id, name, scope, key: raw, created_at: formatTimestamp(createdAt) }
    return { ...json(minted, 201), headers: NO_STORE }
  },
})

const listKeys = (keys: ApiKeys): Route => ({
  method: 'GET',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'List the API keys',
  description: 'Newest first, revoked keys included. Raw keys are not shown.',
  responses: { 200: { description: 'The keys without their raw texts', schema: z.array(apiKeySchema) } },
  handle: () => json(keys.list().map(toJson)),
})

const KEY_ID: IntegerParameter = {
  name: 'key_id',
  in: 'path',
  description: 'The numeric id',
  schema: { type: 'integer' },
}

const revokeKey = (keys: ApiKeys): Route => ({
  method: 'DELETE',
  path: '/admin/api-keys/:key_id',
  gate: 'admin',
  summary: 'Revoke an API key',
  description: 'Revoking a revoked key succeeds and changes nothing.',
  parameters: [KEY_ID],
  responses: { 204: { description: 'Revoked' } },
  problems: [404, 422],
  handle: async ({ params }) => {
    const id = readIntegerParameter(KEY_ID, params.key_id)!
    if (await keys.revoke(id)) return { status: 204 }
    throw new EntrepotError('not_found', `API key ${id} not found`)
  },
})

const toJson = ({ id, name, scope, createdAt, revokedAt }: ApiKey): ApiKeyJson => ({
  id,
  name,
  scope,
  created_at: formatTimestamp(createdAt),
  revoked_at: revokedAt === null ? null : formatTimestamp(revokedAt),
})
