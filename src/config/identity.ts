import { existsSync, readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import type { Pin } from '../domain/source/upstream.ts'
import type { Violation } from '../errors.ts'
import type { Identity } from '../signing/exchange.ts'
import { isSamePrincipal, type Principal, readPrincipal, SCHEMES, type Scheme } from '../signing/principal.ts'
import { openSigner, type Signer } from '../signing/proof.ts'
import { readSecret } from '../signing/secret.ts'
import { decodeText, readFailure } from './secret-files.ts'
import type { Environment } from './settings.ts'

type KeyFile = {
  file: string
  /** Whether other users of the machine can read the key. */
  isExposed: boolean
}

/** What signs the requests of the gateway to Registries of the signed line. */
export type GatewayIdentity = Identity & KeyFile

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
  const signer = readKey(file, scheme, (message) => {
    problems.push({ path: 'gateway.identity.key_file', message })
    return null
  })
  return signer && { signer, role, file, isExposed: isReadableByOthers(file) }
}

const isReadableByOthers = (file: string): boolean =>
  (statSync(file).mode & READABLE_BY_OTHERS) !== 0 && !file.startsWith(SECRETS_FOLDER)

function readKey(file: string, scheme: Scheme, fail: (message: string) => null): Signer | null {
  try {
    if ((statSync(file).mode & WRITABLE_BY_OTHERS) !== 0)
      return fail(`others can write ${file}, and so replace the key; run: chmod 600 ${file}`)
    const secret = readSecret(decodeText(readFileSync(file)))
    const signer = secret?.scheme === scheme ? openSigner(secret) : null
    return signer ?? fail(`${file} holds no key of ${scheme}; entrepot identity new FILE writes one`)
  } catch (cause) {
    const reason = readFailure(cause)
    const hint = existsSync(file) ? '' : '; entrepot identity new FILE writes one'
    return fail(`cannot read ${file}: ${reason}${hint}`)
  }
}

/** Who answers on the signed line. */
export type Authority = KeyFile & { id: string; signer: Signer }

/** Variables of the public implementation, all or none of which are set. */
export const AUTHORITY_VARIABLES = ['ID', 'SCHEME', 'IDENTIFIER', 'CREDENTIAL_FILE'].map(
  (name) => `REGISTRY_AUTHORITY_${name}`,
)

/** `null`: the service speaks the plain line only. Also where the key cannot be used, which is a problem. */
export function readAuthority(environment: Environment, problems: Violation[]): Authority | null {
  const values = AUTHORITY_VARIABLES.map((name) => environment[name] ?? '')
  const missing = AUTHORITY_VARIABLES.filter((_name, n) => values[n] === '')
  if (missing.length === AUTHORITY_VARIABLES.length) return null
  const fail = (path: string, message: string): null => {
    problems.push({ path, message })
    return null
  }
  const [id = '', scheme, identifier, file = ''] = values
  if (missing.length > 0)
    return fail(missing.join(', '), 'missing; the four REGISTRY_AUTHORITY_… go together')
  const [, , identifierName = '', fileName = ''] = AUTHORITY_VARIABLES
  const principal = readPrincipal(scheme, identifier)
  if (principal === null) return fail(identifierName, `is no identifier of the scheme '${scheme}'`)
  const signer = readKey(file, principal.scheme, (message) => fail(fileName, message))
  if (signer === null) return null
  if (isSamePrincipal(signer.principal, principal))
    return { id, signer, file, isExposed: isReadableByOthers(file) }
  return fail(fileName, `${file} holds the key of another identifier, ${signer.principal.identifier}`)
}

type PinSettings = { kind: string } & z.infer<z.ZodObject<typeof PIN_SETTINGS>>

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
