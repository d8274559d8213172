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

/** Answers that hold a raw key must not be cached. */
const NO_STORE = { 'Cache-Control': 'no-store' }

export const mintKey = (keys: ApiKeys): Route => ({
  method: 'POST',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'Mint an API key',
  description: 'A read key satisfies the read routes, a write key both. The raw key is shown this once.',
  body: mintRequestSchema,
  responses: { 201: { description: 'The key', schema: mintedKeySchema } },
  handle: async (exchange) => {
    const request = mintRequestSchema.safeParse(objectBody(exchange).value)
    if (!request.success) throw invalidBody(request.error)
    const { key, raw } = await keys.mint(request.data.name.trim(), request.data.scope)
    const { id, name, scope, createdAt } = key
    const minted: MintedKeyJson = { id, name, scope, key: raw, created_at: formatTimestamp(createdAt) }
    return { ...json(minted, 201), headers: NO_STORE }
  },
})

export const listKeys = (keys: ApiKeys): Route => ({
  method: 'GET',
  path: '/admin/api-keys',
  gate: 'admin',
  summary: 'List the API keys',
  description: 'Newest first, revoked ones included, never a key itself.',
  responses: { 200: { description: 'Their metadata', schema: z.array(apiKeySchema) } },
  handle: () => json(keys.list().map(onWire)),
})

const KEY_ID: IntegerParameter = {
  name: 'key_id',
  in: 'path',
  description: 'The numeric id',
  schema: { type: 'integer' },
}

export const revokeKey = (keys: ApiKeys): Route => ({
  method: 'DELETE',
  path: '/admin/api-keys/:key_id',
  gate: 'admin',
  summary: 'Revoke an API key',
  description: 'Again on a revoked key it changes nothing and succeeds.',
  parameters: [KEY_ID],
  responses: { 204: { description: 'Revoked' } },
  problems: [404, 422],
  handle: async ({ params }) => {
    const id = readIntegerParameter(KEY_ID, params.key_id)!
    if (await keys.revoke(id)) return { status: 204 }
    throw new EntrepotError('not_found', `API key ${id} not found`)
  },
})

const onWire = ({ id, name, scope, createdAt, revokedAt }: ApiKey): ApiKeyJson => ({
  id,
  name,
  scope,
  created_at: formatTimestamp(createdAt),
  revoked_at: revokedAt === null ? null : formatTimestamp(revokedAt),
})
