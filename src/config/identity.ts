import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import type { Pin } from '../domain/source/upstream.ts'
import type { Violation } from '../errors.ts'
import type { Identity } from '../signing/exchange.ts'
import { isSamePrincipal, type Principal, readPrincipal, SCHEMES } from '../signing/principal.ts'
import { openSigner } from '../signing/proof.ts'
import { readSecret } from '../signing/secret.ts'

/** Who asks Registries of the signed line. */
export type GatewayIdentity = Identity & {
  file: string
  /** Whether other users of the machine can read its key. */
  isExposed: boolean
}

export const identityTable = z.strictObject({
  scheme: z.enum(SCHEMES),
  key_file: z.string().min(1),
  role: z.enum(['buyer', 'service']).default('buyer'),
})

/** Of `[[upstreams]]`. */
export const PIN_SETTINGS = {
  protocol: z.enum(['plain', 'signed']).default('plain'),
  authority: z.string().min(1).max(128).optional(),
  identities: z
    .array(z.strictObject({ scheme: z.enum(SCHEMES), identifier: z.string() }))
    .min(1)
    .max(2)
    .optional(),
}

const WRITABLE_BY_OTHERS = 0o022
const READABLE_BY_OTHERS = 0o044
/** Where Compose and Kubernetes mount secrets, readable by all users of a container that has one. */
const SECRETS_FOLDER = '/run/secrets/'

/** @param folder of the gateway file. `null` where the key cannot be used, which is a problem */
export function readIdentity(
  { scheme, key_file, role }: z.infer<typeof identityTable>,
  folder: string,
  problems: Violation[],
): GatewayIdentity | null {
  const file = resolve(folder, key_file)
  const fail = (message: string): null => {
    problems.push({ path: 'gateway.identity.key_file', message })
    return null
  }
  try {
    const { mode } = statSync(file)
    if ((mode & WRITABLE_BY_OTHERS) !== 0)
      return fail(`others can write ${file}, and so replace the key; run: chmod 600 ${file}`)
    const secret = readSecret(readFileSync(file, 'utf8'))
    const signer = secret?.scheme === scheme ? openSigner(secret) : null
    if (signer === null)
      return fail(`${file} holds no key of ${scheme}; entrepot identity new FILE writes one`)
    const isExposed = (mode & READABLE_BY_OTHERS) !== 0 && !file.startsWith(SECRETS_FOLDER)
    return { signer, role, file, isExposed }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    return fail(
      code === 'ENOENT'
        ? `cannot read ${file}: no such file; entrepot identity new FILE writes one`
        : `cannot read ${file}: ${code}`,
    )
  }
}

type PinSettings = {
  kind: string
  protocol: 'plain' | 'signed'
  authority?: string | undefined
  identities?: readonly { scheme: string; identifier: string }[] | undefined
}

/** Who answers as an upstream of the signed line; `null` for the plain one. */
export function readPin(
  { kind, protocol, authority, identities }: PinSettings,
  { path, hasIdentity, problems }: { path: string; hasIdentity: boolean; problems: Violation[] },
): Pin | null {
  const fail = (member: string, message: string): null => {
    problems.push({ path: `${path}.${member}`, message })
    return null
  }
  if (protocol === 'plain') {
    if (authority === undefined && identities === undefined) return null
    return fail(
      'protocol',
      'is plain, where nothing is signed; set it to "signed", or remove authority and identities',
    )
  }
  if (!hasIdentity)
    return fail('protocol', 'a signed Registry answers signed requests only; add [gateway.identity]')
  if (kind === 'gateway') return fail('kind', 'a gateway is read by the plain line; set protocol to "plain"')
  if (authority === undefined) return fail('authority', 'is missing; add the name of the Registry')
  if (identities === undefined) return fail('identities', 'is missing; add the key of the Registry')
  const keys = readKeys(identities, fail)
  return keys && { authority, keys }
}

/** Keys of one Registry: one, or two while it changes its key. */
export function readKeys(
  identities: readonly { scheme?: unknown; identifier?: unknown }[],
  fail: (member: string, message: string) => unknown,
): Principal[] | null {
  const keys: Principal[] = []
  for (const [n, { scheme, identifier }] of identities.entries()) {
    const key = readPrincipal(scheme, identifier)
    const isRepeated = key !== null && keys.some((other) => isSamePrincipal(key, other))
    if (key !== null && !isRepeated) keys.push(key)
    else fail(`identities[${n}]`, isRepeated ? 'is there twice; remove one' : `is no key of ${scheme}`)
  }
  return keys.length === identities.length ? keys : null
}
