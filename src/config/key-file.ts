import { statSync } from 'node:fs'
import { z } from 'zod'
import { type ApiKey, KEY_ROLES, KEY_SCOPES } from '../domain/api-key.ts'
import type { Violation } from '../errors.ts'
import { isReservedName, NO_VIEW, NOT_BOTH } from '../wire/api-key.ts'
import { readRowFile } from './toml-file.ts'
import { noSuch } from './views.ts'

const MAX_KEYS = 1000
/** Hex digits of a hash that are an id, which numbers of JSON hold exactly. */
const ID_DIGITS = 12
const MS_PER_DAY = 86_400_000

const key = z.strictObject({
  name: z.string().max(128).regex(/\S/, 'expected a name'),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'expected the SHA-256 of the key, in 64 lower-case hex digits'),
  scope: z.enum(KEY_SCOPES).optional(),
  role: z.enum(KEY_ROLES).optional(),
  view: z.string().optional(),
  expires: z.iso.date('expected a day such as "2026-12-31"').optional(),
})

/**
 * Keys that a file declares by their hashes, each with a negative id that all replicas compute alike.
 * @param views names that a key may have
 */
export function readKeyFile(file: string, views: readonly string[], problems: Violation[]): ApiKey[] {
  const { keys } = readRowFile(file, { keys: key }, MAX_KEYS, problems)
  const hashes = keys.map(({ hash }) => hash)
  for (const [n, { place, name, scope, role, hash, view }] of keys.entries()) {
    const fail = (member: string, message: string): void =>
      void problems.push({ path: place(member), message })
    const first = hashes.indexOf(hash)
    if (first < n) fail('hash', `also the hash of ${keys[first]!.path}; remove one`)
    if (view !== undefined && !views.includes(view)) fail('view', noSuch('view', view, views))
    if (role !== undefined && scope !== undefined) fail('role', `${NOT_BOTH}; remove one`)
    if (role !== undefined && view !== undefined) fail('view', `${NO_VIEW}; remove it`)
    if (role === 'admin' && isReservedName(name)) fail('name', `'${name}' is reserved; choose another name`)
  }
  const createdAt = timeOf(file)
  return keys.map(({ name, scope = 'read', role = scope, hash, view = null, expires }) => ({
    id: -1 - Number.parseInt(hash.slice(0, ID_DIGITS), 16),
    ...{ name, scope: role, hash, view, createdAt },
    expiresAt: expires === undefined ? null : (Date.parse(expires) + MS_PER_DAY) * 1000,
    revokedAt: null,
  }))
}

/** When the file was written, in microseconds; 0 without a file, which is a problem already. */
function timeOf(file: string): number {
  return Math.floor((statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) * 1000)
}
