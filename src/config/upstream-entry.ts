import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { UPSTREAM_KINDS, type UpstreamOptions } from '../domain/source/upstream.ts'
import { inCamelCase } from './camel-case.ts'
import { PIN_SETTINGS, readPin } from './identity.ts'
import { decodeText, readFailure } from './secret-files.ts'
import { type FileContext, variable } from './variables.ts'

export const text = z.string().min(1)
export const whole = (least: number): z.ZodNumber =>
  z
    .number()
    .int()
    .min(least)
    .max(2 ** 40)
export const count = (fallback: number, least = 0): z.ZodDefault<z.ZodNumber> =>
  whole(least).default(fallback)
export const sourceName = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/, 'expected 1 to 64 characters of a-z, 0-9 and -')

const baseUrl = z.string().superRefine((value, context) => {
  const url = URL.parse(value)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    context.addIssue({ code: 'custom', message: 'expected an http or https URL' })
  else if (url.username || url.password)
    context.addIssue({
      code: 'custom',
      message: 'must not hold credentials; use api_key_env or api_key_file',
    })
  else if (/[?#]/.test(value))
    context.addIssue({ code: 'custom', message: 'must have no query and no fragment; remove them' })
})

/** `[[upstreams]]`. */
export const upstreamEntry = z.strictObject({
  name: sourceName,
  url: baseUrl,
  kind: z.enum(UPSTREAM_KINDS).default('registry'),
  visibility: z.enum(['public', 'private']).default('public'),
  api_key_env: text.optional(),
  api_key_file: text.optional(),
  ...PIN_SETTINGS,
  priority: z.number().int().min(-1_000_000).max(1_000_000).optional(),
  timeout_ms: count(2500, 1),
  connect_timeout_ms: count(1000, 1),
  max_in_flight: count(8, 1),
  refresh_seconds: whole(1).optional(),
  full_refresh_seconds: whole(1).optional(),
  max_age_seconds: whole(1).optional(),
  max_listings: whole(1).optional(),
  allow_private_addresses: z.boolean().default(false),
})

/**
 * Seconds of the first page, and of the whole. A signed Registry keeps each answer for good, so it is asked seldom; of one whose
 * changes are followed the first page is not read, and the whole is compared.
 */
const PERIODS = { plain: [15, 60], followed: [15, 600], signed: [60, 3600] } as const

/** @param source where the file is, and whether it has an identity for signed upstreams */
export function upstreamOptions(
  entry: z.infer<typeof upstreamEntry>,
  n: number,
  source: FileContext & { hasIdentity: boolean },
): UpstreamOptions {
  const { api_key_env: _env, api_key_file: _file, protocol, authority, identities, ...rest } = entry
  const [first, whole] = PERIODS[protocol]
  const { priority = n + 1, refresh_seconds: refreshSeconds = first, ...others } = rest
  const path = `upstreams[${n}]`
  return {
    ...inCamelCase(others),
    url: rest.url.replace(/\/+$/, ''),
    key: upstreamKey(entry, path, source),
    pin: readPin(entry, { ...source, path }),
    priority,
    refreshSeconds,
    fullRefreshSeconds: Math.max(rest.full_refresh_seconds ?? whole, refreshSeconds),
    followedRefreshSeconds: Math.max(rest.full_refresh_seconds ?? PERIODS.followed[1], refreshSeconds),
    maxAgeSeconds: rest.max_age_seconds ?? null,
    maxListings: rest.max_listings ?? null,
  }
}

function upstreamKey(entry: z.infer<typeof upstreamEntry>, path: string, source: FileContext): string | null {
  const { environment, problems } = source
  const { api_key_env: name, api_key_file: keyFile } = entry
  const complain = (member: string, message: string): null => {
    problems.push({ path: `${path}.${member}`, message })
    return null
  }
  if (name !== undefined) {
    const key = variable(name, environment)?.trim()
    const member = 'api_key_env'
    if (!key) return complain(member, `the environment variable ${name} is not set; set it to the key`)
    return isSendable(key) ? key : complain(member, NOT_SENDABLE)
  }
  if (keyFile === undefined) return null
  const member = 'api_key_file'
  const file = resolve(dirname(source.file), keyFile)
  try {
    const key = decodeText(readFileSync(file)).trim()
    if (key === '') return complain(member, `${file} is empty`)
    return isSendable(key) ? key : complain(member, NOT_SENDABLE)
  } catch (cause) {
    return complain(member, `cannot read ${file}: ${readFailure(cause)}`)
  }
}

/** The key travels in a header. */
const isSendable = (key: string): boolean => /^[\x21-\x7e]+$/.test(key)
const NOT_SENDABLE = 'the key has characters that cannot be sent in a header, such as spaces; correct it'
