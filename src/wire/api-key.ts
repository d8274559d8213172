import { z } from 'zod'
import { type ApiKey, isRole, KEY_ROLES, KEY_SCOPES, OPERATOR_NAME } from '../domain/api-key.ts'
import { wireTimestamp } from './time.ts'

const MAX_NAME_LENGTH = 128

/** Before the user and the host of who acts on the store itself. */
const LOCAL_PREFIX = 'local:'

const MAX_EXPIRY_DAYS = 3650
const NOT_DAYS = `Input should be a number of days, 1 to ${MAX_EXPIRY_DAYS}`

const scope = z.enum(KEY_SCOPES, "Input should be 'read' or 'write'")
const role = z.enum(KEY_ROLES, "Input should be 'metrics' or 'admin'")

/** Other keys read no listings, or all of them. */
export const NO_VIEW = 'Only a key with a scope has a view'
export const NOT_BOTH = 'A key has a scope or a role, not both'

/** The length of `name` is counted in code points, before trimming. Further members are ignored. */
export const mintRequestSchema = z
  .looseObject({
    name: z
      .string({
        error: ({ input }) => (input === undefined ? 'Field required' : 'Input should be a valid string'),
      })
      .refine((name) => name.trim() !== '', 'String should have at least 1 character')
      .refine(
        (name) => [...name].length <= MAX_NAME_LENGTH,
        `String should have at most ${MAX_NAME_LENGTH} characters`,
      )
      .meta({ minLength: 1, maxLength: MAX_NAME_LENGTH }),
    scope: scope.optional().meta({ default: 'read' }),
    role: role
      .nullish()
      .describe('In place of a scope: metrics opens `GET /metrics`, admin what the operator’s key opens'),
    expires_in_days: z
      .int(NOT_DAYS)
      .min(1, NOT_DAYS)
      .max(MAX_EXPIRY_DAYS, NOT_DAYS)
      .nullish()
      .describe('The key is refused from then on; null: never'),
    view: z
      .string('Input should be the name of a view')
      .nullish()
      .describe('What readers with the key see; null: the view of `[access] keys`'),
  })
  .refine(({ scope, role }) => scope === undefined || isAbsent(role), { path: ['role'], error: NOT_BOTH })
  .refine(({ name, role }) => role !== 'admin' || !isReservedName(name.trim()), {
    path: ['name'],
    error: `No admin key has the name '${OPERATOR_NAME}', or one that begins with ${LOCAL_PREFIX}`,
  })
  .refine(({ role, view }) => isAbsent(role) || isAbsent(view), { path: ['view'], error: NO_VIEW })
  .meta({ id: 'MintRequest' })

function isAbsent(member: unknown): boolean {
  return member === undefined || member === null
}

/** Names of those who act without an admin key of the store. */
export const isReservedName = (name: string): boolean =>
  name === OPERATOR_NAME || name.startsWith(LOCAL_PREFIX)

const MAX_OVERLAP_SECONDS = 31_536_000
const NOT_OVERLAP = `Input should be a number of seconds, 0 to ${MAX_OVERLAP_SECONDS}`

export const rotateRequestSchema = z
  .looseObject({
    name: z.string('Input should be the name of a key'),
    overlap_seconds: z
      .int(NOT_OVERLAP)
      .min(0, NOT_OVERLAP)
      .max(MAX_OVERLAP_SECONDS, NOT_OVERLAP)
      .default(86_400)
      .describe('How long the old key stays good'),
  })
  .meta({ id: 'RotateKeyRequest' })

export const mintedKeySchema = z
  .object({
    id: z.int(),
    name: z.string(),
    scope: scope.optional().describe('Absent: the key has a role'),
    role: role.optional(),
    key: z.string().describe('The raw key: shown here and never again'),
    created_at: wireTimestamp,
    expires_at: wireTimestamp.nullable(),
    view: z.string().optional().describe('Its view, where it names one'),
  })
  .meta({ id: 'MintedKey' })

export const rotatedKeySchema = mintedKeySchema
  .extend({
    replaces: z.object({ id: z.int(), expires_at: wireTimestamp }).describe('The old key, and its end'),
  })
  .meta({ id: 'RotatedKey' })

export const apiKeySchema = mintedKeySchema
  .omit({ key: true })
  .extend({
    revoked_at: wireTimestamp.nullable(),
    last_used_at: wireTimestamp.nullable().describe('Saved once a minute; null: never used'),
    declared: z.literal(true).optional().describe('In the file of `[keys]`, which alone ends it'),
    calls: z.int().describe('Requests with it, on all replicas'),
  })
  .meta({ id: 'ApiKey' })

/** What the key opens, under the name that it has there. */
export const scopeOrRole = ({ scope }: Pick<ApiKey, 'scope'>): Pick<ApiKeyJson, 'scope' | 'role'> =>
  isRole(scope) ? { role: scope } : { scope }

export type ApiKeyJson = z.infer<typeof apiKeySchema>
export type MintedKeyJson = z.infer<typeof mintedKeySchema>
