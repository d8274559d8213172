import { z } from 'zod'
import type { ApiKey } from '../domain/api-key.ts'
import { formatTimestamp } from '../domain/timestamp.ts'
import { EntrepotError } from '../errors.ts'
import type { ApiKeys } from '../registry/api-keys.ts'
import { objectBody } from './body.ts'
import { type Handler, json } from './exchange.ts'
import { readPathInteger } from './parameters.ts'

const MAX_NAME_LENGTH = 128

/** Counted in code points and before trimming; further members are ignored (`protocol.md` 1.3). */
const mintRequest = z.object({
  name: z
    .string({
      error: ({ input }) => (input === undefined ? 'Field required' : 'Input should be a valid string'),
    })
    .refine((name) => name.length > 0, 'String should have at least 1 character')
    .refine(
      (name) => [...name].length <= MAX_NAME_LENGTH,
      `String should have at most ${MAX_NAME_LENGTH} characters`,
    ),
  scope: z.enum(['read', 'write'], "Input should be 'read' or 'write'").default('read'),
})

/** `POST /admin/api-keys`: the only time that a raw key is shown. */
export const mintKey =
  (keys: ApiKeys): Handler =>
  async (exchange) => {
    const request = mintRequest.safeParse(objectBody(exchange).value)
    if (!request.success) throw invalid(request.error)
    const { key, raw } = await keys.mint(request.data.name.trim(), request.data.scope)
    const { id, name, scope, createdAt } = key
    return json({ id, name, scope, key: raw, created_at: formatTimestamp(createdAt) }, 201)
  }

/** `GET /admin/api-keys`: a bare array, newest first, revoked ones included, never a key. */
export const listKeys =
  (keys: ApiKeys): Handler =>
  () =>
    json(keys.list().map(onWire))

/** `DELETE /admin/api-keys/{key_id}`: idempotent. */
export const revokeKey =
  (keys: ApiKeys): Handler =>
  async ({ params }) => {
    const id = readPathInteger('key_id', params.key_id)
    if (await keys.revoke(id)) return { status: 204 }
    throw new EntrepotError('not_found', `API key ${id} not found`)
  }

const onWire = ({ id, name, scope, createdAt, revokedAt }: ApiKey) => ({
  id,
  name,
  scope,
  created_at: formatTimestamp(createdAt),
  revoked_at: revokedAt === null ? null : formatTimestamp(revokedAt),
})

const invalid = ({ issues }: z.ZodError): EntrepotError => {
  const errors = issues.map(({ path, message }) => ({ path: ['body', ...path].join('.'), message }))
  return new EntrepotError('invalid', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    errors,
  })
}
